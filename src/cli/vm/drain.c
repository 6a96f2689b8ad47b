/* SPDX-License-Identifier: Apache-2.0 */
/* cleave vm drain: moves each virtual machine of this host that has a partition, one
 * after the other, before the host is taken down.  All are planned before the first is
 * moved; each is planned again when its turn comes, because minutes may have passed.  The
 * command keeps no state: repeated, it moves those that are still here. */
#include "base/error.h"
#include "base/text.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/node/change.h"
#include "cli/vm/actions.h"
#include "cli/vm/move.h"
#include "cli/vm/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct machine {
	char uuid[CLV_VM_UUID_MAX];
	char name[128];
	bool is_running, is_done;
};

struct drain {
	const struct clv_vm_move_settings *settings;
	struct clv_vm_session here;
	struct clv_vm_peer *peers; /* owned */
	struct clv_error *errors;  /* owned; of the machine at hand, one for each peer */
	size_t n_peers;
	struct machine *machines; /* owned */
	size_t n_machines;
	int signal_fd;
};

/* --- The plan --- */

static bool has_lease(const struct drain *drain, const char *uuid)
{
	return clv_vm_count_leases(&drain->here.inventory, uuid) > 0;
}

/* To the first host where it can be.  The caller ends the move. */
static int plan_one(
	struct drain *drain, const struct clv_vm_guest *guest, struct clv_vm_move *ret)
{
	int result = 0;

	for (size_t i = 0; i < drain->n_peers; i++) {
		clv_vm_move_end(ret);
		*ret = clv_vm_move_begin(drain->settings, &drain->here, &drain->peers[i],
			drain->signal_fd);
		if (clv_vm_move_plan(ret, guest, &drain->errors[i]) >= 0)
			return 0;
	}
	for (size_t i = 0; i < drain->n_peers; i++)
		result = clv_vm_session_fail(&drain->errors[i]);
	return result;
}

static int add_machine(struct drain *drain, const struct clv_vm_guest *guest)
{
	struct machine *machine = &drain->machines[drain->n_machines++];
	_cleanup_move_ struct clv_vm_move move = {0};
	int r = plan_one(drain, guest, &move);

	memcpy(machine->uuid, guest->config.uuid, sizeof(machine->uuid));
	snprintf(machine->name, sizeof(machine->name), "%s", guest->config.name);
	machine->is_running = guest->is_running;
	if (!r)
		clv_vm_move_show(&move);
	return r;
}

/* The host is not empty while machines run on it that are not moved, with a device of the
 * host or without. */
static void show_others(const struct drain *drain, bool has_device, const char *what)
{
	size_t n = 0;

	for (size_t i = 0; i < drain->here.guests.n; i++) {
		const struct clv_vm_guest *guest = &drain->here.guests.items[i];

		n += guest->is_running && clv_vm_host_is_local(guest) &&
		     !has_lease(drain, guest->config.uuid) &&
		     (guest->live.n_hostdevs > 0) == has_device;
	}
	if (n > 0)
		clv_output_line(stderr,
			"%zu running virtual machine%s without a "
			"partition stay%s here: %s",
			n, n == 1 ? "" : "s", n == 1 ? "s" : "", what);
}

/* What a libvirt that does not answer, or an XML that cannot be read, leaves out may be a
 * machine with a partition. */
static int check_complete(const struct drain *drain)
{
	if (drain->here.guests.is_complete)
		return 0;
	clv_vm_session_print_problems(&drain->here);
	return clv_cli_fail(CLV_EXIT_UNREACHABLE,
		"not all virtual machines of this host are known, so some may have "
		"partitions: mend this, and try again");
}

static const struct clv_vm_guest *find_here(const struct drain *drain, const char *uuid)
{
	const struct clv_vm_guests *guests = &drain->here.guests;
	const struct clv_vm_guest *guest =
		clv_vm_find_guest(guests->items, guests->n, uuid);

	return guest && clv_vm_host_is_local(guest) ? guest : NULL;
}

static int fail_missing(const struct clv_vm_lease *lease)
{
	return clv_cli_fail(CLV_EXIT_NO_FIT,
		"the virtual machine %.100s has %s, and libvirt does not have it here: "
		"name its libvirt with --connect, or release its lease with cleave "
		"unassign %s",
		lease->command, lease->partition, lease->vm);
}

/* Returns how many leases are of machines that libvirt does not have here. */
static size_t show_missing(const struct drain *drain)
{
	const struct clv_vm_inventory *inventory = &drain->here.inventory;
	size_t n = 0;

	for (size_t i = 0; i < inventory->n_leases; i++) {
		if (find_here(drain, inventory->leases[i].vm))
			continue;
		fail_missing(&inventory->leases[i]);
		n++;
	}
	return n;
}

static int plan_all(struct drain *drain, size_t *ret_failed)
{
	const struct clv_vm_guests *guests = &drain->here.guests;
	int result = 0;

	for (size_t i = 0; i < guests->n; i++) {
		const struct clv_vm_guest *guest = &guests->items[i];
		int r = 0;

		if (clv_vm_host_is_local(guest) && has_lease(drain, guest->config.uuid))
			r = add_machine(drain, guest);
		*ret_failed += r != 0;
		result = result ? result : r;
	}
	return result;
}

/* Shows each machine that cannot be moved, not only the first. */
static int plan(struct drain *drain)
{
	size_t n_missing, n_failed = 0;
	int result = check_complete(drain);

	if (result)
		return result;
	drain->machines = calloc(drain->here.guests.n + 1, sizeof(*drain->machines));
	if (!drain->machines)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	n_missing = show_missing(drain);
	result = plan_all(drain, &n_failed);
	if (n_missing > 0 && !result)
		result = CLV_EXIT_NO_FIT;
	if (result)
		return clv_cli_fail(result,
			"nothing was moved, because %zu of %zu virtual machines cannot "
			"be "
			"moved: name another host too, or move the others with cleave vm "
			"move",
			n_failed + n_missing, drain->n_machines + n_missing);
	show_others(drain, false, "virsh migrate moves those");
	show_others(drain, true,
		"with a device of this host by virsh or a pool none can be migrated, "
		"shut those down");
	return 0;
}

static int confirm(const struct drain *drain)
{
	const struct clv_change change = {
		.common = &drain->settings->vm.common,
		.is_confirmed = drain->settings->yes,
		.signal_fd = drain->signal_fd,
	};
	char loss[80];
	size_t n = 0;

	for (size_t i = 0; i < drain->n_machines; i++)
		n += drain->machines[i].is_running;
	snprintf(loss, sizeof(loss), "%zu running virtual machine%s would be shut down",
		n, n == 1 ? "" : "s");
	return clv_change_confirm(&change, "Move?", n > 0 ? loss : NULL);
}

/* --- The moves --- */

static int refresh(struct drain *drain)
{
	int r = clv_vm_session_refresh(&drain->here);

	for (size_t i = 0; i < drain->n_peers && !r; i++)
		r = clv_vm_session_refresh(&drain->peers[i].session);
	return r;
}

static int move_guest(struct drain *drain, const struct clv_vm_guest *guest)
{
	_cleanup_move_ struct clv_vm_move move = {0};
	int r = plan_one(drain, guest, &move);

	if (r)
		return r;
	r = clv_vm_move_carry_out(&move);
	if (r)
		return clv_vm_move_undo(&move, r);
	clv_output_line(stderr, "%s was moved to %s", guest->config.name, move.host);
	return clv_vm_move_finish(&move);
}

/* One that was moved or gave its partition back meanwhile needs nothing. */
static int move_machine(struct drain *drain, struct machine *machine)
{
	const struct clv_vm_guest *guest;
	const struct clv_vm_lease *lease;
	int r = refresh(drain);

	if (!r)
		r = check_complete(drain);
	if (r)
		return r;
	guest = find_here(drain, machine->uuid);
	lease = clv_vm_lease_of(&drain->here.inventory, machine->uuid);
	if (lease)
		r = guest ? move_guest(drain, guest) : fail_missing(lease);
	machine->is_done = !r;
	return r;
}

static int move_all(struct drain *drain)
{
	int r = 0;

	for (size_t i = 0; i < drain->n_machines && !r; i++)
		r = move_machine(drain, &drain->machines[i]);
	return r;
}

/* --- What was done --- */

static int show(struct drain *drain)
{
	_cleanup_free_ const char **uuids = calloc(drain->n_machines, sizeof(*uuids));
	_cleanup_free_ const struct clv_vm_session **sessions =
		calloc(drain->n_peers, sizeof(*sessions));
	size_t n = 0;

	if (!uuids || !sessions)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < drain->n_machines; i++) {
		if (drain->machines[i].is_done)
			uuids[n++] = drain->machines[i].uuid;
	}
	for (size_t i = 0; i < drain->n_peers; i++)
		sessions[i] = &drain->peers[i].session;
	return n == 0 ? 0 : clv_vm_session_show(sessions, drain->n_peers, uuids, n);
}

static int explain_left(const struct drain *drain, int exit_code)
{
	char left[256] = "";
	size_t n = 0;

	for (size_t i = 0; i < drain->n_machines; i++) {
		if (drain->machines[i].is_done)
			n++;
		else
			clv_text_list(left, sizeof(left), drain->machines[i].name);
	}
	return clv_cli_fail(exit_code,
		"%zu of %zu virtual machines were moved; those left are %s: the same "
		"command moves them",
		n, drain->n_machines, left);
}

static int carry_out(struct drain *drain)
{
	int result = move_all(drain), r = refresh(drain);

	if (!r)
		r = show(drain);
	if (result)
		return explain_left(drain, result);
	return r;
}

/* --- */

static int begin(struct drain *drain, char **hosts)
{
	int r = 0;

	drain->peers = calloc(drain->n_peers, sizeof(*drain->peers));
	drain->errors = calloc(drain->n_peers, sizeof(*drain->errors));
	if (!drain->peers || !drain->errors)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < drain->n_peers && !r; i++)
		r = clv_vm_peer_prepare(hosts[i], drain->settings, &drain->peers[i]);
	if (!r)
		r = clv_vm_session_begin(&drain->settings->vm, &drain->here);
	for (size_t i = 0; i < drain->n_peers && !r; i++)
		r = clv_vm_peer_begin(&drain->peers[i]);
	return r ? r : clv_vm_session_hold_signals(&drain->signal_fd);
}

static void end(struct drain *drain)
{
	clv_vm_session_end(&drain->here);
	for (size_t i = 0; drain->peers && i < drain->n_peers; i++)
		clv_vm_peer_end(&drain->peers[i]);
	if (drain->signal_fd >= 0)
		close(drain->signal_fd);
	free(drain->peers);
	free(drain->errors);
	free(drain->machines);
}
#define _cleanup_drain_ CLV_CLEANUP(end)

int clv_vm_run_drain(const struct clv_vm_move_settings *settings, int argc, char **argv)
{
	_cleanup_drain_ struct drain drain = {
		.settings = settings, .n_peers = (size_t)argc, .signal_fd = -1};
	int r;

	if (argc > 1 && (settings->to || settings->to_socket))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--to and --to-socket are of one host: name one HOST");
	r = begin(&drain, argv);
	if (!r)
		r = plan(&drain);
	if (!r && drain.n_machines == 0) {
		clv_output_line(
			stderr, "no virtual machine of this host has a partition");
		return 0;
	}
	if (!r)
		r = confirm(&drain);
	return r ? r : carry_out(&drain);
}
