/* SPDX-License-Identifier: Apache-2.0 */
/* cleave vm move.  The partitions of the other host are leased first, so that no other
 * gets them, and those here are released last, so that the way back is open.  The machine
 * is off while it is defined at both.  Signals that would end the command are held from
 * the first lease on; docs/vms.md lists what a program that is killed leaves. */
#include "cli/vm/move.h"

#include "base/error.h"
#include "bridge/libvirt/domain/choose.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/signals.h"
#include "cli/node/change.h"
#include "cli/vm/actions.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- What is moved, and whereto --- */

static int check_guest(struct clv_vm_move *move)
{
	const struct clv_vm_guest *guest = move->guest;
	const char *there = clv_vm_host_name(move->there.host);
	struct clv_error err = {0};

	if (!clv_vm_host_is_local(guest))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"the virtual machine %.100s is on %.100s: run cleave vm move "
			"there",
			guest->config.name, guest->host);
	if (!guest->is_persistent)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"the virtual machine %.100s is transient and ends when it is "
			"shut down: define it with virsh define first",
			guest->config.name);
	if (there && guest->host && strcmp(there, guest->host) == 0)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"the virtual machine %.100s is on %.100s already",
			guest->config.name, there);
	if (clv_vm_check_movable(move->here.host, guest, &move->belongings, &err) < 0)
		return clv_vm_session_fail(&err);
	return 0;
}

/* Names and UUIDs are unique at a libvirt. */
static int check_others(const struct clv_vm_move *move)
{
	const struct clv_vm_domain *ours = &move->guest->config;

	for (size_t i = 0; i < move->there.guests.n; i++) {
		const struct clv_vm_domain *other = &move->there.guests.items[i].config;

		if (strcmp(other->uuid, ours->uuid) == 0 ||
			strcmp(other->name, ours->name) == 0)
			return clv_cli_fail(CLV_EXIT_NO_FIT,
				"%.100s has a virtual machine %.100s (%s) already: "
				"rename or undefine it there",
				move->host, other->name, other->uuid);
	}
	for (size_t i = 0; i < move->there.inventory.n_leases; i++) {
		if (strcmp(move->there.inventory.leases[i].vm, ours->uuid) == 0)
			return clv_cli_fail(CLV_EXIT_NO_FIT,
				"%.100s has a lease of %.100s from a move that was "
				"interrupted: cleave unassign %s there",
				move->host, ours->name, ours->uuid);
	}
	return 0;
}

/* What the machine does not have yet while it runs, it gets by the move. */
static int check_differences(const struct clv_vm_move *move)
{
	struct clv_vm_differences found = {0};
	char text[512];
	int result = 0;

	if (clv_vm_compare(&move->here.inventory, move->guest, 1, false, &found) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < found.n && !result; i++) {
		if (found.items[i].kind == CLV_VM_LEASE_NOT_LIVE)
			continue;
		clv_vm_difference_describe(&found.items[i], text, sizeof(text));
		result = clv_cli_fail(CLV_EXIT_NO_FIT, "%s", text);
	}
	free(found.items);
	return result;
}

static int find_pairs(struct clv_vm_move *move)
{
	const struct clv_vm_inventory *inventory = &move->here.inventory;

	move->pairs = calloc(inventory->n_leases + 1, sizeof(*move->pairs));
	if (!move->pairs)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < inventory->n_leases; i++) {
		const struct clv_vm_lease *lease = &inventory->leases[i];
		const struct clv_vm_partition *partition =
			clv_vm_find_partition(inventory, lease->partition);

		if (strcmp(lease->vm, move->guest->config.uuid) != 0 || !partition)
			continue;
		move->pairs[move->n_pairs++] =
			(struct clv_vm_pair){.here = *lease, .partition = *partition};
	}
	if (move->n_pairs == 0)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"the virtual machine %.100s has no partition: move it with virsh "
			"migrate",
			move->guest->config.name);
	if (move->belongings.n_hostdevs > move->n_pairs)
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"the virtual machine %.100s has a device of this host that is no "
			"partition, and %.100s may have another at its address: take it "
			"out with virsh detach-device",
			move->guest->config.name, move->host);
	return 0;
}

static int choose_one(struct clv_vm_move *move, struct clv_vm_pair *pair)
{
	struct clv_vm_inventory *there = &move->there.inventory;
	const struct clv_vm_wish wish = {.profile = pair->partition.profile,
		.memory_bytes = pair->partition.memory_bytes,
		.model = pair->partition.model,
		.means = pair->partition.means,
		.more = true};
	const struct clv_vm_target target = {
		.name = move->guest->config.name, .uuid = move->guest->config.uuid};
	const struct clv_vm_partition *chosen;
	struct clv_error err = {0};

	if (clv_vm_choose(there, &wish, &target, 1, &chosen, &err) < 0) {
		clv_error_prefix(&err, "on %.100s", move->host);
		return clv_vm_session_fail(&err);
	}
	pair->chosen = *chosen;
	there->partitions[chosen - there->partitions].is_held = true;
	return 0;
}

static int find_guest(struct clv_vm_move *move, const char *name)
{
	move->guest = clv_vm_session_find(&move->here, name);
	return move->guest ? 0 : CLV_EXIT_USAGE;
}

static int prepare(struct clv_vm_move *move)
{
	int r = check_guest(move);

	if (!r)
		r = check_others(move);
	if (!r)
		r = check_differences(move);
	if (!r)
		r = find_pairs(move);
	for (size_t i = 0; i < move->n_pairs && !r; i++)
		r = choose_one(move, &move->pairs[i]);
	move->moved = (struct clv_vm_guest){
		.uri = clv_vm_host_uri(move->there.host),
		.host = clv_vm_host_name(move->there.host),
		.is_persistent = true,
		.config = move->guest->config,
	};
	return r;
}

/* --- What is going to happen --- */

static void show_storage(const struct clv_vm_move *move)
{
	const struct clv_vm_belongings *belongings = &move->belongings;
	const char *name = move->guest->config.name;

	if (belongings->disks[0])
		clv_output_line(stderr,
			"its disks are not copied, and have to be the same on %s: %s",
			move->host, belongings->disks);
	if (belongings->variables[0])
		clv_output_line(stderr,
			"the firmware's variables of %s are not copied, and have to be "
			"the same on %s: %s",
			name, move->host, belongings->variables);
}

static void show_shutdown(const struct clv_vm_move *move)
{
	const char *name = move->guest->config.name;

	clv_output_line(stderr,
		"%s runs: it is shut down, and started on %s; it cannot be moved live, "
		"because the state in its partition stays on this host",
		name, move->host);
	if (move->stop.force)
		clv_output_line(stderr,
			"%s is turned off if it does not shut down in %d s", name,
			move->stop.timeout_ms / 1000);
}

static int show_plan(const struct clv_vm_move *move)
{
	const char *name = move->guest->config.name;
	const struct clv_change change = {
		.common = &move->settings->vm.common,
		.is_confirmed = move->settings->yes,
		.signal_fd = move->stop.interrupt_fd,
	};
	char loss[160];

	for (size_t i = 0; i < move->n_pairs; i++)
		clv_output_line(stderr, "%s gets %s of %s in place of %s", name,
			move->pairs[i].chosen.name, move->host,
			move->pairs[i].partition.name);
	show_storage(move);
	if (!move->guest->is_running) {
		clv_output_line(stderr, "%s is off, and stays off", name);
		return clv_change_confirm(&change, "Move?", NULL);
	}
	show_shutdown(move);
	snprintf(loss, sizeof(loss), "%.100s would be shut down", name);
	return clv_change_confirm(&change, "Move?", loss);
}

/* --- */

static int release_here(struct clv_vm_move *move)
{
	int result = 0;

	for (size_t i = 0; i < move->n_pairs; i++) {
		int r = clv_vm_session_release(&move->here, move->pairs[i].here.id);

		result = r ? r : result;
	}
	return result;
}

static int show(struct clv_vm_move *move)
{
	const char *uuid = move->moved.config.uuid;
	int r = clv_vm_session_refresh(&move->there);

	return r ? r : clv_vm_session_show(&move->there, &uuid, 1);
}

/* Last, so that it does not start with a host to which it is not known to be moved. */
static int autostart_there(struct clv_vm_move *move)
{
	struct clv_error err = {0};

	if (!move->is_autostarted ||
		clv_vm_set_autostart(move->there.host, &move->moved, true, &err) >= 0)
		return 0;
	clv_vm_session_fail(&err);
	return clv_cli_fail(CLV_EXIT_FAILED,
		"%.100s was moved to %.100s, and does not start with it: virsh autostart "
		"there",
		move->moved.config.name, move->host);
}

/* It is there, so what fails here is no reason to go back. */
static int finish(struct clv_vm_move *move)
{
	const char *uuid = move->moved.config.uuid;
	int is_incomplete = autostart_there(move), r = release_here(move);

	if (r)
		return clv_cli_fail(CLV_EXIT_FAILED,
			"%.100s was moved to %.100s, and its partitions here are not "
			"released: cleave unassign %s",
			move->moved.config.name, move->host, uuid);
	r = show(move);
	if (r)
		clv_output_line(stderr, "%s was moved to %s", move->moved.config.name,
			move->host);
	return is_incomplete ? is_incomplete : r;
}

/* --- */

static void begin_there(struct clv_vm_move *move)
{
	const struct clv_vm_move_settings *settings = move->settings;

	snprintf(move->uri, sizeof(move->uri), "qemu+ssh://%.200s/system", move->host);
	move->there_settings = settings->vm;
	move->there_settings.connect = settings->to ? settings->to : move->uri;
	move->there_settings.common.socket = settings->to_socket;
	move->there_settings.common.sim = NULL;
}

/* From here on signals do not end the program. */
static int hold_signals(struct clv_vm_move *move)
{
	int fd = clv_signals_watch(NULL);

	if (fd < 0)
		return clv_cli_fail(
			CLV_EXIT_FAILED, "cannot watch signals: %s", strerror(-fd));
	signal(SIGPIPE, SIG_IGN);
	move->stop.interrupt_fd = fd;
	return 0;
}

static int begin(struct clv_vm_move *move, const char *name)
{
	const struct clv_vm_move_settings *settings = move->settings;
	int r = clv_vm_forward_prepare(&move->forward);

	move->stop = clv_vm_session_stop_options(settings->timeout_ns, settings->force);
	begin_there(move);
	if (!r)
		r = clv_vm_session_begin(&settings->vm, &move->here);
	if (!r)
		r = find_guest(move, name);
	if (!r && !settings->to_socket) {
		r = clv_vm_forward_begin(move->host, &move->forward);
		move->there_settings.common.socket = move->forward.socket;
	}
	if (!r)
		r = clv_vm_session_begin(&move->there_settings, &move->there);
	return r ? r : hold_signals(move);
}

static void end(struct clv_vm_move *move)
{
	clv_vm_session_end(&move->here);
	clv_vm_session_end(&move->there);
	clv_vm_forward_end(&move->forward);
	if (move->stop.interrupt_fd >= 0)
		close(move->stop.interrupt_fd);
	free(move->pairs);
	free(move->definition);
	free(move->moved_definition);
}
#define _cleanup_move_ CLV_CLEANUP(end)

int clv_vm_run_vm(const void *userdata, int argc, char **argv)
{
	_cleanup_move_ struct clv_vm_move move = {
		.settings = userdata, .host = argv[2], .stop = {.interrupt_fd = -1}};
	int r;

	if (strcmp(argv[0], "move") != 0)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"'%.40s' is not a command of cleave vm: write cleave vm move VM "
			"HOST",
			argv[0]);
	r = begin(&move, argv[1]);
	if (!r)
		r = prepare(&move);
	if (!r)
		r = show_plan(&move);
	if (r)
		return r;
	r = clv_vm_move_carry_out(&move);
	return r ? clv_vm_move_undo(&move, r) : finish(&move);
}
