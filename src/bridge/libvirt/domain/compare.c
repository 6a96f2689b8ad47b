/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the agent's leases of virtual machines with the domains and the partitions.
 * Each kind of difference has one repair, and where two would be possible it has none: a
 * person decides. */
#include "bridge/libvirt/domain/compare.h"

#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the devices that Pacemaker's agent writes: packaging/pacemaker/gpu. */
#define POOL_ALIAS "ua-cleave"

/* The line is "the virtual machine NAME", has, the partition's name, then, and, if there
 * is a last part, the function's address, or who uses it, and that part. */
/* clang-format off */
static const struct {
	const char *name, *has, *then, *last;
	enum clv_vm_repair repair;
	bool stops_start;
} kinds[_CLV_VM_DIFFERENCE_MAX] = {
	[CLV_VM_LEASE_WITHOUT_GUEST] = {"lease-without-vm", " has ",
		" and is not defined on this host any more: --repair releases it", NULL,
		CLV_VM_REPAIR_RELEASE},
	[CLV_VM_LEASE_NOT_IN_CONFIG] = {"not-in-xml", " has the lease of ",
		", which is not in its XML: --repair puts it back, cleave unassign "
		"releases it", NULL,
		CLV_VM_REPAIR_ATTACH},
	[CLV_VM_LEASE_NOT_LIVE] = {"not-live", " runs without ",
		": it gets it when it is started again", NULL,
		CLV_VM_REPAIR_NONE},
	[CLV_VM_DEVICE_WITHOUT_LEASE] = {"no-lease", " has ", " at ",
		" by a lease that has ended: --repair takes it out of its XML",
		CLV_VM_REPAIR_DETACH, true},
	[CLV_VM_DEVICE_OF_OTHER] = {"of-another", " uses ", " at ",
		", which is another's: take it out of its XML with virsh edit",
		CLV_VM_REPAIR_NONE, true},
	[CLV_VM_DEVICE_ELSEWHERE] = {"other-address", " has another address for ", " than ",
		", where it is now: --repair corrects its XML",
		CLV_VM_REPAIR_MOVE, true},
	[CLV_VM_PARTITION_GONE] = {"partition-gone", " has the lease of ",
		", which does not exist now: apply the layout again, mend the GPU if "
		"that is lost, or release it with cleave unassign", NULL,
		CLV_VM_REPAIR_NONE, true},
	[CLV_VM_PARTITION_UNASSIGNED] = {"unassigned", " uses ", " at ",
		" without a lease, so another may get it: take it out of its XML with "
		"virsh edit, and use cleave assign",
		CLV_VM_REPAIR_NONE, true},
	[CLV_VM_DEVICE_IN_USE] = {"in-use", " is to have ", ", which is in use by ",
		": end that first",
		CLV_VM_REPAIR_NONE, true},
};
/* clang-format on */

const char *clv_vm_difference_to_string(enum clv_vm_difference_kind kind)
{
	return kinds[kind].name;
}

enum clv_vm_repair clv_vm_difference_repair(enum clv_vm_difference_kind kind)
{
	return kinds[kind].repair;
}

bool clv_vm_difference_stops_start(enum clv_vm_difference_kind kind)
{
	return kinds[kind].stops_start;
}

static int add(struct clv_vm_differences *list, struct clv_vm_difference difference)
{
	struct clv_vm_difference *item = CLV_APPEND(list->items, list->n);

	if (!item)
		return -ENOMEM;
	*item = difference;
	return 0;
}

const struct clv_vm_guest *clv_vm_find_guest(
	const struct clv_vm_guest *guests, size_t n, const char *uuid)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(guests[i].config.uuid, uuid) == 0)
			return &guests[i];
	}
	return NULL;
}

/* Whether the start of a machine that is off would take a whole GPU from others.  While
 * the machine runs, its emulator is the one that uses it. */
static bool is_in_use(
	const struct clv_vm_guest *guest, const struct clv_vm_partition *partition)
{
	return !guest->is_running && partition->is_whole && partition->user[0] != '\0';
}

static int compare_lease(const struct clv_vm_inventory *inventory,
	const struct clv_vm_lease *lease, const struct clv_vm_guest *guest,
	struct clv_vm_differences *list)
{
	const struct clv_vm_partition *partition =
		clv_vm_find_partition(inventory, lease->partition);
	const struct clv_vm_hostdev *in_config =
		guest ? clv_vm_find_lease(&guest->config, lease->id) : NULL;
	struct clv_vm_difference difference = {.guest = guest,
		.lease = lease,
		.partition = partition,
		.hostdev = in_config,
		.is_in_config = true};

	if (!guest)
		difference.kind = CLV_VM_LEASE_WITHOUT_GUEST;
	else if (!partition)
		difference.kind = CLV_VM_PARTITION_GONE;
	else if (!in_config)
		difference.kind = CLV_VM_LEASE_NOT_IN_CONFIG;
	else if (strcmp(in_config->address, partition->address) != 0)
		difference.kind = CLV_VM_DEVICE_ELSEWHERE;
	else if (guest->is_running && !clv_vm_find_lease(&guest->live, lease->id))
		difference.kind = CLV_VM_LEASE_NOT_LIVE;
	else if (is_in_use(guest, partition))
		difference.kind = CLV_VM_DEVICE_IN_USE;
	else
		return 0;
	return add(list, difference);
}

/* A member of a pool is for the machine that its lease names, or for that which
 * Pacemaker's agent defined, whose resource may have another name. */
static bool is_of_other_pool(const struct clv_vm_guest *guest,
	const struct clv_vm_partition *whole, const struct clv_vm_hostdev *hostdev)
{
	return whole->pool_vm[0] != '\0' && !guest->is_running &&
	       strcmp(whole->pool_vm, guest->config.name) != 0 &&
	       strcmp(hostdev->alias, POOL_ALIAS) != 0;
}

/* A function that the domain has by another's lease, or by none. */
static int compare_foreign(const struct clv_vm_inventory *inventory,
	struct clv_vm_difference difference, struct clv_vm_differences *list)
{
	const struct clv_vm_partition *partition =
		clv_vm_partition_at(inventory, difference.hostdev->address);
	const char *alias = clv_vm_lease_of_alias(difference.hostdev->alias);

	difference.partition = partition;
	difference.lease = partition ? clv_vm_lease_on(inventory, partition->name) : NULL;
	if (difference.lease &&
		strcmp(difference.lease->vm, difference.guest->config.uuid) != 0)
		difference.kind = CLV_VM_DEVICE_OF_OTHER;
	else if (alias)
		difference.kind = CLV_VM_DEVICE_WITHOUT_LEASE;
	else if (!partition || difference.lease)
		return 0; /* not cleave's, or its own: see CLV_VM_LEASE_NOT_IN_CONFIG */
	else if (partition->is_whole && (is_in_use(difference.guest, partition) ||
						is_of_other_pool(difference.guest,
							partition, difference.hostdev)))
		difference.kind = CLV_VM_DEVICE_IN_USE;
	else if (partition->is_whole)
		return 0; /* given by virsh, or by a pool */
	else
		difference.kind = CLV_VM_PARTITION_UNASSIGNED;
	return add(list, difference);
}

static int compare_hostdevs(const struct clv_vm_inventory *inventory,
	const struct clv_vm_guest *guest, bool is_in_config,
	struct clv_vm_differences *list)
{
	const struct clv_vm_domain *domain = is_in_config ? &guest->config : &guest->live;
	int r = 0;

	for (size_t i = 0; i < domain->n_hostdevs && r == 0; i++) {
		const struct clv_vm_hostdev *hostdev = &domain->hostdevs[i];
		const char *id = clv_vm_lease_of_alias(hostdev->alias);
		const struct clv_vm_lease *lease =
			id ? clv_vm_lease_by_id(inventory, id) : NULL;

		if (lease && strcmp(lease->vm, domain->uuid) == 0)
			continue; /* compared by its lease */
		/* What is in both is shown once. */
		if (!is_in_config &&
			clv_vm_find_address(&guest->config, hostdev->address))
			continue;
		r = compare_foreign(inventory,
			(struct clv_vm_difference){.guest = guest,
				.hostdev = hostdev,
				.is_in_config = is_in_config},
			list);
	}
	return r;
}

int clv_vm_compare(const struct clv_vm_inventory *inventory,
	const struct clv_vm_guest *guests, size_t n_guests, bool is_complete,
	struct clv_vm_differences *ret)
{
	int r = 0;

	*ret = (struct clv_vm_differences){0};
	for (size_t i = 0; i < inventory->n_leases && r == 0; i++) {
		const struct clv_vm_lease *lease = &inventory->leases[i];
		const struct clv_vm_guest *guest =
			clv_vm_find_guest(guests, n_guests, lease->vm);

		if (guest || is_complete)
			r = compare_lease(inventory, lease, guest, ret);
	}
	for (size_t i = 0; i < n_guests && r == 0; i++) {
		r = compare_hostdevs(inventory, &guests[i], true, ret);
		if (r == 0 && guests[i].is_running)
			r = compare_hostdevs(inventory, &guests[i], false, ret);
	}
	return r;
}

static const char *describe_user(
	const struct clv_vm_partition *partition, char buffer[100])
{
	if (partition->user[0])
		return partition->user;
	snprintf(buffer, 100, "the virtual machine %.60s of a pool", partition->pool_vm);
	return buffer;
}

void clv_vm_difference_describe(
	const struct clv_vm_difference *difference, char *ret, size_t ret_bytes)
{
	const struct clv_vm_lease *lease = difference->lease;
	const struct clv_vm_partition *partition = difference->partition;
	const char *last = kinds[difference->kind].last;
	const char *address = "";
	char user[100];

	if (difference->kind == CLV_VM_DEVICE_IN_USE)
		address = describe_user(partition, user);
	else if (difference->kind == CLV_VM_DEVICE_ELSEWHERE)
		address = partition->address;
	else if (last)
		address = difference->hostdev->address;
	snprintf(ret, ret_bytes, "the virtual machine %.100s%s%s%s%s%s",
		difference->guest ? difference->guest->config.name : lease->command,
		kinds[difference->kind].has,
		partition ? partition->name
		: lease   ? lease->partition
			  : "a partition",
		kinds[difference->kind].then, last ? address : "", last ? last : "");
}

void clv_vm_guest_clear(struct clv_vm_guest *guest)
{
	clv_vm_domain_clear(&guest->config);
	clv_vm_domain_clear(&guest->live);
	*guest = (struct clv_vm_guest){0};
}
