/* SPDX-License-Identifier: Apache-2.0 */
/* Which partitions of another host a virtual machine gets, and what its move does. */
#include "base/error.h"
#include "bridge/libvirt/domain/choose.h"
#include "cli/frame/output.h"
#include "cli/vm/move.h"
#include "cli/vm/peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct clv_vm_move clv_vm_move_begin(const struct clv_vm_move_settings *settings,
	struct clv_vm_session *here, struct clv_vm_peer *peer, int interrupt_fd)
{
	struct clv_vm_move move = {
		.host = peer->host,
		.here = here,
		.there = &peer->session,
		.stop = clv_vm_session_stop_options(
			settings->timeout_ns, settings->force),
	};

	move.stop.interrupt_fd = interrupt_fd;
	return move;
}

void clv_vm_move_end(struct clv_vm_move *move)
{
	free(move->pairs);
	free(move->definition);
	free(move->moved_definition);
}

static int check_guest(struct clv_vm_move *move, struct clv_error *err)
{
	const struct clv_vm_guest *guest = move->guest;
	const char *there = clv_vm_host_name(move->there->host);

	if (!clv_vm_host_is_local(guest))
		return clv_error_set(err, -EINVAL,
			"the virtual machine %.100s is on %.100s: run cleave vm move "
			"there",
			guest->config.name, guest->host);
	if (!guest->is_persistent)
		return clv_error_set(err, -EINVAL,
			"the virtual machine %.100s is transient and ends when it is "
			"shut down: define it with virsh define first",
			guest->config.name);
	if (there && guest->host && strcmp(there, guest->host) == 0)
		return clv_error_set(err, -EINVAL,
			"the virtual machine %.100s is on %.100s already",
			guest->config.name, there);
	return clv_vm_check_movable(move->here->host, guest, &move->belongings, err);
}

/* Names and UUIDs are unique at a libvirt.  One that does not answer would be found out
 * after the machine was shut down. */
static int check_others(const struct clv_vm_move *move, struct clv_error *err)
{
	const struct clv_vm_domain *ours = &move->guest->config;
	const char *problem = clv_vm_host_problem(move->there->host, 0);

	if (!move->there->guests.is_complete)
		return clv_error_set(err, -ECONNREFUSED,
			"%.100s on %.100s: not all virtual machines of %.100s are known: "
			"%.300s",
			ours->name, move->host, move->host,
			problem ? problem : "out of memory");
	for (size_t i = 0; i < move->there->guests.n; i++) {
		const struct clv_vm_domain *other = &move->there->guests.items[i].config;

		if (strcmp(other->uuid, ours->uuid) == 0 ||
			strcmp(other->name, ours->name) == 0)
			return clv_error_set(err, -EBUSY,
				"%.100s has a virtual machine %.100s (%s) already: "
				"rename or undefine it there",
				move->host, other->name, other->uuid);
	}
	if (clv_vm_count_leases(&move->there->inventory, ours->uuid) > 0)
		return clv_error_set(err, -EBUSY,
			"%.100s has a lease of %.100s from a move that was interrupted: "
			"cleave unassign %s there",
			move->host, ours->name, ours->uuid);
	return 0;
}

/* What the machine does not have yet while it runs, it gets by the move. */
static int check_differences(const struct clv_vm_move *move, struct clv_error *err)
{
	struct clv_vm_differences found = {0};
	char text[512];
	int r = 0;

	if (clv_vm_compare(&move->here->inventory, move->guest, 1, false, &found) < 0)
		return clv_error_errno(err, ENOMEM, "cannot plan the move");
	for (size_t i = 0; i < found.n && r == 0; i++) {
		enum clv_vm_difference_kind kind = found.items[i].kind;

		if (kind == CLV_VM_LEASE_NOT_LIVE || kind == CLV_VM_DEVICE_IN_USE)
			continue;
		clv_vm_difference_describe(&found.items[i], text, sizeof(text));
		r = clv_error_set(err, -EBUSY, "%s", text);
	}
	free(found.items);
	return r;
}

int clv_vm_move_check_hostdevs(const struct clv_vm_move *move, struct clv_error *err)
{
	if (move->belongings.n_hostdevs > move->n_pairs)
		return clv_error_set(err, -EBUSY,
			"the virtual machine %.100s has a device of this host that is no "
			"partition, and %.100s may have another at its address: take it "
			"out with virsh detach-device",
			move->guest->config.name, move->host);
	return 0;
}

static int find_pairs(struct clv_vm_move *move, struct clv_error *err)
{
	const struct clv_vm_inventory *inventory = &move->here->inventory;

	move->pairs = calloc(inventory->n_leases + 1, sizeof(*move->pairs));
	if (!move->pairs)
		return clv_error_errno(err, ENOMEM, "cannot plan the move");
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
		return clv_error_set(err, -EINVAL,
			"the virtual machine %.100s has no partition: move it with virsh "
			"migrate",
			move->guest->config.name);
	return clv_vm_move_check_hostdevs(move, err);
}

static int choose_one(
	struct clv_vm_move *move, struct clv_vm_pair *pair, struct clv_error *err)
{
	struct clv_vm_inventory *there = &move->there->inventory;
	const struct clv_vm_wish wish = {.profile = pair->partition.profile,
		.memory_bytes = pair->partition.memory_bytes,
		.model = pair->partition.model,
		.means = pair->partition.means,
		.more = true};
	const struct clv_vm_target target = {
		.name = move->guest->config.name, .uuid = move->guest->config.uuid};
	const struct clv_vm_partition *chosen;

	if (clv_vm_choose(there, &wish, &target, 1, &chosen, err) < 0)
		return clv_error_prefix(err, "%.100s on %.100s", target.name, move->host);
	pair->chosen = *chosen;
	there->partitions[chosen - there->partitions].is_held = true;
	return 0;
}

/* What was chosen for a machine that does not fit is free for the next one. */
static void give_back(struct clv_vm_move *move)
{
	struct clv_vm_inventory *there = &move->there->inventory;

	for (size_t i = 0; i < there->n_partitions; i++) {
		for (size_t k = 0; k < move->n_pairs; k++) {
			if (strcmp(there->partitions[i].name,
				    move->pairs[k].chosen.name) == 0)
				there->partitions[i].is_held = false;
		}
	}
}

static int choose_all(struct clv_vm_move *move, struct clv_error *err)
{
	int r = 0;

	for (size_t i = 0; i < move->n_pairs && r >= 0; i++)
		r = choose_one(move, &move->pairs[i], err);
	if (r < 0)
		give_back(move);
	return r;
}

int clv_vm_move_plan(
	struct clv_vm_move *move, const struct clv_vm_guest *guest, struct clv_error *err)
{
	int r;

	move->guest = guest;
	move->moved = (struct clv_vm_guest){
		.uri = clv_vm_host_uri(move->there->host),
		.host = clv_vm_host_name(move->there->host),
		.is_persistent = true,
		.config = guest->config,
	};
	r = check_guest(move, err);
	if (r >= 0)
		r = check_others(move, err);
	if (r >= 0)
		r = check_differences(move, err);
	if (r >= 0)
		r = find_pairs(move, err);
	return r < 0 ? r : choose_all(move, err);
}

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

void clv_vm_move_show(const struct clv_vm_move *move)
{
	const char *name = move->guest->config.name;

	for (size_t i = 0; i < move->n_pairs; i++)
		clv_output_line(stderr, "%s gets %s of %s in place of %s", name,
			move->pairs[i].chosen.name, move->host,
			move->pairs[i].partition.name);
	show_storage(move);
	if (move->guest->is_running)
		show_shutdown(move);
	else
		clv_output_line(stderr, "%s is off, and stays off", name);
}
