/* SPDX-License-Identifier: Apache-2.0 */
/* cleave vm move.  The partitions of the other host are leased first, so that no other
 * gets them, and those here are released last, so that the way back is open.  The machine
 * is off while it is defined at both.  A program that is killed in between leaves a
 * difference, which cleave vms shows on both hosts. */
#include "base/error.h"
#include "bridge/libvirt/domain/choose.h"
#include "bridge/libvirt/host/change.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/node/change.h"
#include "cli/vm/actions.h"
#include "cli/vm/forward.h"
#include "cli/vm/session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A partition here and the one that takes its place. */
struct pair {
	struct clv_vm_lease here, there; /* there is made by the move */
	struct clv_vm_partition partition, chosen;
};

struct move {
	const struct clv_vm_move_settings *settings;
	const char *host; /* as the user named it */
	char uri[256];    /* of its libvirt, by ssh */
	struct clv_vm_settings there_settings;
	struct clv_vm_forward forward;
	struct clv_vm_session here, there;
	const struct clv_vm_guest *guest; /* here */
	struct clv_vm_guest moved;        /* there; its strings are those of guest */
	struct pair *pairs;               /* owned */
	size_t n_pairs, n_leased;
	char *definition, *moved_definition; /* owned */
	bool is_autostarted;
	bool is_stopped, is_defined, is_undefined; /* what was done */
};

/* --- What is moved, and whereto --- */

static int check_guest(const struct move *move)
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
	if (clv_vm_check_movable(move->here.host, guest, &err) < 0)
		return clv_vm_session_fail(&err);
	return 0;
}

/* Names and UUIDs are unique at a libvirt. */
static int check_others(const struct move *move)
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
	return 0;
}

/* What the machine does not have yet while it runs, it gets by the move. */
static int check_differences(const struct move *move)
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

static int find_pairs(struct move *move)
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
			(struct pair){.here = *lease, .partition = *partition};
	}
	if (move->n_pairs > 0)
		return 0;
	return clv_cli_fail(CLV_EXIT_USAGE,
		"the virtual machine %.100s has no partition: move it with virsh migrate",
		move->guest->config.name);
}

/* The guest's driver knows its GPU: another model, or another way to give it, is none. */
static void rule_out(
	struct clv_vm_inventory *there, const struct clv_vm_partition *partition)
{
	for (size_t i = 0; i < there->n_partitions; i++) {
		struct clv_vm_partition *other = &there->partitions[i];

		if (strcmp(other->model, partition->model) == 0 &&
			other->means == partition->means)
			continue;
		snprintf(other->why_not, sizeof(other->why_not),
			"%.40s is another GPU than %.40s", other->model,
			partition->model);
	}
}

static int choose_one(struct move *move, struct pair *pair)
{
	struct clv_vm_inventory *there = &move->there.inventory;
	const struct clv_vm_wish wish = {.profile = pair->partition.profile,
		.memory_bytes = pair->partition.memory_bytes,
		.more = true};
	const struct clv_vm_target target = {
		.name = move->guest->config.name, .uuid = move->guest->config.uuid};
	const struct clv_vm_partition *chosen;
	struct clv_error err = {0};

	rule_out(there, &pair->partition);
	if (clv_vm_choose(there, &wish, &target, 1, &chosen, &err) < 0) {
		clv_error_prefix(&err, "on %.100s", move->host);
		return clv_vm_session_fail(&err);
	}
	pair->chosen = *chosen;
	there->partitions[chosen - there->partitions].is_held = true;
	return 0;
}

static int read_definition(struct move *move)
{
	struct clv_error err = {0};

	if (clv_vm_read_definition(
		    move->here.host, move->guest, &move->definition, &err) < 0 ||
		clv_vm_get_autostart(
			move->here.host, move->guest, &move->is_autostarted, &err) < 0)
		return clv_vm_session_fail(&err);
	move->moved = (struct clv_vm_guest){
		.uri = clv_vm_host_uri(move->there.host),
		.host = clv_vm_host_name(move->there.host),
		.is_persistent = true,
		.config = move->guest->config,
	};
	return 0;
}

static int prepare(struct move *move, const char *name)
{
	int r;

	move->guest = clv_vm_session_find(&move->here, name);
	if (!move->guest)
		return CLV_EXIT_USAGE;
	r = check_guest(move);
	if (!r)
		r = check_others(move);
	if (!r)
		r = check_differences(move);
	if (!r)
		r = find_pairs(move);
	for (size_t i = 0; i < move->n_pairs && !r; i++)
		r = choose_one(move, &move->pairs[i]);
	return r ? r : read_definition(move);
}

/* --- What is going to happen --- */

static int show_plan(const struct move *move)
{
	const char *name = move->guest->config.name;
	const struct clv_change change = {
		.common = &move->settings->vm.common,
		.is_confirmed = move->settings->yes,
		.signal_fd = -1,
	};
	char loss[160];

	for (size_t i = 0; i < move->n_pairs; i++)
		clv_output_line(stderr, "%s gets %s of %s in place of %s", name,
			move->pairs[i].chosen.name, move->host,
			move->pairs[i].partition.name);
	if (!move->guest->is_running) {
		clv_output_line(stderr, "%s is off, and stays off", name);
		return clv_change_confirm(&change, "Move?", NULL);
	}
	clv_output_line(stderr,
		"%s runs: it is shut down, and started on %s; it cannot be moved live, "
		"because the state in its partition stays on this host",
		name, move->host);
	snprintf(loss, sizeof(loss), "%.100s would be shut down", name);
	return clv_change_confirm(&change, "Move?", loss);
}

/* --- Steps, each an exit code after printing the error --- */

static int lease_there(struct move *move)
{
	int r = 0;

	for (size_t i = 0; i < move->n_pairs && !r; i++) {
		struct pair *pair = &move->pairs[i];

		r = clv_vm_session_lease(
			&move->there, move->guest, &pair->chosen, &pair->there);
		if (!r)
			move->n_leased++;
	}
	return r;
}

static int stop_here(struct move *move, struct clv_error *err)
{
	int r;

	if (!move->guest->is_running)
		return 0;
	r = clv_vm_stop(move->here.host, move->guest,
		clv_vm_session_timeout_ms(move->settings->timeout_ns),
		move->settings->force, err);
	move->is_stopped = r >= 0;
	return r;
}

/* From here on an interrupt would leave the machine at both hosts, or at none. */
static int hold_signals(struct move *move, struct clv_error *err)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGQUIT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return 0;
}

static int define_there(struct move *move, struct clv_error *err)
{
	_cleanup_free_ struct clv_vm_exchange *exchanges =
		calloc(move->n_pairs, sizeof(*exchanges));
	int r;

	if (!exchanges)
		return clv_error_errno(err, ENOMEM, "cannot write XML");
	for (size_t i = 0; i < move->n_pairs; i++) {
		const struct pair *pair = &move->pairs[i];

		exchanges[i] = (struct clv_vm_exchange){pair->here.id, pair->there.id,
			pair->chosen.means, pair->chosen.address};
	}
	r = clv_vm_domain_exchange(move->definition, strlen(move->definition), exchanges,
		move->n_pairs, &move->moved_definition, err);
	if (r >= 0)
		r = clv_vm_define(move->there.host, move->moved_definition, err);
	move->is_defined = r >= 0;
	return r;
}

static int note_there(struct move *move, struct clv_error *err)
{
	if (clv_vm_session_reread(&move->there))
		return clv_error_set(
			err, -ECONNREFUSED, "the agent of %.100s went away", move->host);
	return clv_vm_session_note(
		&move->there, &move->moved, move->guest->config.shuts_down, err);
}

static int undefine_here(struct move *move, struct clv_error *err)
{
	int r = clv_vm_undefine(move->here.host, move->guest, err);

	move->is_undefined = r >= 0;
	return r;
}

static int start_there(struct move *move, struct clv_error *err)
{
	int r = move->is_autostarted
			? clv_vm_set_autostart(move->there.host, &move->moved, true, err)
			: 0;

	return r >= 0 && move->is_stopped
		       ? clv_vm_start(move->there.host, &move->moved, err)
		       : r;
}

static int carry_out(struct move *move)
{
	static int (*const steps[])(struct move * move, struct clv_error * err) = {
		stop_here, hold_signals, define_there, note_there, undefine_here,
		start_there};
	struct clv_error err = {0};
	int r = lease_there(move);

	if (r)
		return r;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(steps); i++) {
		if (steps[i](move, &err) < 0)
			return clv_vm_session_fail(&err);
	}
	return 0;
}

/* --- The way back --- */

static int define_here(struct move *move, struct clv_error *err)
{
	int r = clv_vm_define(move->here.host, move->definition, err);

	return r >= 0 && move->is_autostarted
		       ? clv_vm_set_autostart(move->here.host, move->guest, true, err)
		       : r;
}

/* Each step is tried; what fails is printed. */
static void undo(struct move *move)
{
	struct clv_error err = {0};

	if (move->is_undefined && define_here(move, &err) < 0)
		clv_vm_session_fail(&err);
	if (move->is_defined && clv_vm_undefine(move->there.host, &move->moved, &err) < 0)
		clv_vm_session_fail(&err);
	for (size_t i = 0; i < move->n_leased; i++)
		clv_vm_session_release(&move->there, move->pairs[i].there.id);
	if (move->is_stopped && clv_vm_start(move->here.host, move->guest, &err) < 0)
		clv_vm_session_fail(&err);
	clv_output_line(stderr, "%s was not moved: what was done is undone",
		move->guest->config.name);
}

/* It runs there already, so what fails here is no reason to go back. */
static int release_here(struct move *move)
{
	int result = 0;

	for (size_t i = 0; i < move->n_pairs; i++) {
		int r = clv_vm_session_release(&move->here, move->pairs[i].here.id);

		result = r ? r : result;
	}
	return result;
}

static int show(struct move *move)
{
	const char *uuid = move->moved.config.uuid;
	int r = clv_vm_session_refresh(&move->there);

	return r ? r : clv_vm_session_show(&move->there, &uuid, 1);
}

/* --- */

static int begin(struct move *move)
{
	const struct clv_vm_move_settings *settings = move->settings;
	int r = 0;

	snprintf(move->uri, sizeof(move->uri), "qemu+ssh://%.200s/system", move->host);
	move->there_settings = settings->vm;
	move->there_settings.connect = settings->to ? settings->to : move->uri;
	move->there_settings.common.socket = settings->to_socket;
	move->there_settings.common.sim = NULL;
	if (!settings->to_socket) {
		r = clv_vm_forward_begin(move->host, &move->forward);
		move->there_settings.common.socket = move->forward.socket;
	}
	if (!r)
		r = clv_vm_session_begin(&settings->vm, &move->here);
	return r ? r : clv_vm_session_begin(&move->there_settings, &move->there);
}

static void end(struct move *move)
{
	clv_vm_session_end(&move->here);
	clv_vm_session_end(&move->there);
	clv_vm_forward_end(&move->forward);
	free(move->pairs);
	free(move->definition);
	free(move->moved_definition);
}
#define _cleanup_move_ CLV_CLEANUP(end)

int clv_vm_run_vm(const void *userdata, int argc, char **argv)
{
	_cleanup_move_ struct move move = {.settings = userdata, .host = argv[2]};
	int r;

	if (strcmp(argv[0], "move") != 0)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"'%.40s' is not a command of cleave vm: write cleave vm move VM "
			"HOST",
			argv[0]);
	r = begin(&move);
	if (!r)
		r = prepare(&move, argv[1]);
	if (!r)
		r = show_plan(&move);
	if (r)
		return r;
	r = carry_out(&move);
	if (r) {
		undo(&move);
		return r;
	}
	r = release_here(&move);
	return r ? r : show(&move);
}
