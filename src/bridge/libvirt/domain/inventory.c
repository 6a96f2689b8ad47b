/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the agent's objects.  A member that is missing or of another type is empty: the
 * agent may be of another version. */
#include "bridge/libvirt/domain/inventory.h"

#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static uint64_t bytes_of(const json_t *object)
{
	json_int_t bytes = json_integer_value(json_object_get(object, "memory_bytes"));

	return bytes > 0 ? (uint64_t)bytes : 0;
}

const char *clv_vm_of_holder(const char *holder)
{
	static const char prefix[] = CLV_VM_HOLDER_PREFIX;
	size_t n = sizeof(prefix) - 1;

	return strncmp(holder, prefix, n) == 0 &&
			       strlen(holder + n) == CLV_VM_UUID_MAX - 1
		       ? holder + n
		       : NULL;
}

static enum clv_vm_means means_of(const char *framework)
{
	static const struct {
		const char *framework;
		enum clv_vm_means means;
	} frameworks[] = {
		{"vgpu-vfio", CLV_VM_VENDOR},
		{"vgpu-mdev", CLV_VM_MDEV},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(frameworks); i++) {
		if (strcmp(frameworks[i].framework, framework) == 0)
			return frameworks[i].means;
	}
	return CLV_VM_PCI;
}

/* The function in the list of the device's state that has the partition's address. */
static const json_t *find_function(const json_t *vf, const char *address)
{
	const json_t *function;
	size_t i;

	json_array_foreach (json_object_get(vf, "functions"), i, function) {
		if (strcmp(text_of(function, "address"), address) == 0)
			return function;
	}
	return NULL;
}

/* What VFIO would refuse, before a machine is changed. */
static void explain(struct clv_vm_partition *partition, const json_t *function)
{
	const json_t *group = json_object_get(function, "iommu_group");

	if (partition->means == CLV_VM_VENDOR &&
		text_of(json_object_get(function, "quota"), "type")[0] == '\0')
		snprintf(partition->why_not, sizeof(partition->why_not),
			"it has no vGPU type yet: give it one with a layout");
	else if (partition->means == CLV_VM_MDEV && partition->address[0] == '\0')
		snprintf(partition->why_not, sizeof(partition->why_not),
			"it has no mdev yet: give it a vGPU type with a layout");
	else if (partition->means == CLV_VM_PCI && json_is_integer(group) &&
		 json_integer_value(group) < 0)
		snprintf(partition->why_not, sizeof(partition->why_not),
			"it is in no IOMMU group: turn the IOMMU on in the firmware and "
			"the kernel");
}

static int add_partition(struct clv_vm_inventory *inventory, const json_t *device,
	const json_t *json, enum clv_vm_means means)
{
	struct clv_vm_partition *partition =
		CLV_APPEND(inventory->partitions, inventory->n_partitions);
	const json_t *holders = json_object_get(json, "holders");
	const char *address = text_of(json, "address");

	if (!partition)
		return -ENOMEM;
	partition->means = means;
	partition->memory_bytes = bytes_of(json);
	snprintf(partition->name, sizeof(partition->name), "%s", text_of(json, "name"));
	snprintf(partition->profile, sizeof(partition->profile), "%s",
		text_of(json, "profile"));
	snprintf(partition->address, sizeof(partition->address), "%s",
		means == CLV_VM_MDEV ? text_of(json, "uuid") : address);
	snprintf(partition->device, sizeof(partition->device), "%s",
		text_of(device, "name"));
	snprintf(partition->model, sizeof(partition->model), "%s",
		text_of(device, "model"));
	partition->is_held = json_array_size(holders) > 0;
	snprintf(partition->holder, sizeof(partition->holder), "%s",
		text_of(json_array_get(holders, 0), "text"));
	explain(partition, find_function(json_object_get(device, "vf"), address));
	return 0;
}

/* NULL: out of memory. */
static struct clv_vm_partition *append_whole(struct clv_vm_inventory *inventory,
	const char *name, const char *address, const char *model, uint64_t memory_bytes)
{
	struct clv_vm_partition *whole =
		CLV_APPEND(inventory->partitions, inventory->n_partitions);

	if (!whole)
		return NULL;
	whole->is_whole = true;
	whole->means = CLV_VM_PCI;
	whole->memory_bytes = memory_bytes;
	snprintf(whole->name, sizeof(whole->name), "%s", name);
	snprintf(whole->device, sizeof(whole->device), "%s", name);
	snprintf(whole->profile, sizeof(whole->profile), CLV_VM_WHOLE);
	snprintf(whole->address, sizeof(whole->address), "%s", address);
	snprintf(whole->model, sizeof(whole->model), "%s", model);
	return whole;
}

/* The agent's reason, which for a GPU in use names no holder; and whatever the agent
 * says, a GPU with parts is none: a machine would take them from their programs. */
static void explain_whole(struct clv_vm_partition *whole, const json_t *device)
{
	const char *why = strcmp(text_of(device, "assignable"), "none") == 0
				  ? text_of(device, "why_not_assignable")
				  : "";
	bool is_divided = strcmp(text_of(device, "scheme"), "none") != 0 ||
			  json_array_size(json_object_get(device, "partitions")) > 0;

	if (is_divided && why[0] == '\0')
		why = "it is divided for programs of this host: make it whole with a "
		      "layout";
	snprintf(whole->why_not, sizeof(whole->why_not), "%s", why);
}

/* Leases are found by their devices, which are there also while no driver shows them. */
static void find_program(struct clv_vm_partition *whole, const json_t *holders)
{
	const json_t *holder;
	size_t i;

	json_array_foreach (holders, i, holder) {
		if (whole->user[0] == '\0' && text_of(holder, "lease")[0] == '\0')
			snprintf(whole->user, sizeof(whole->user), "%.99s",
				text_of(holder, "text"));
	}
}

/* The processor, as OpenCL sees it, has no PCI address. */
static int add_whole(struct clv_vm_inventory *inventory, const json_t *device)
{
	const json_t *holders = json_object_get(device, "holders");
	const char *address = text_of(device, "pci_address");
	struct clv_vm_partition *whole;

	if (address[0] == '\0')
		return 0;
	whole = append_whole(inventory, text_of(device, "name"), address,
		text_of(device, "model"), bytes_of(device));
	if (!whole)
		return -ENOMEM;
	whole->is_held = json_array_size(holders) > 0;
	snprintf(whole->holder, sizeof(whole->holder), "%s",
		text_of(json_array_get(holders, 0), "text"));
	if (!whole->is_held)
		explain_whole(whole, device);
	find_program(whole, holders);
	return 0;
}

static int read_device(struct clv_vm_inventory *inventory, const json_t *device)
{
	const char *framework = text_of(json_object_get(device, "vf"), "framework");
	const json_t *partition;
	size_t i;
	int r = 0;

	if (strcmp(text_of(device, "scheme"), "vf") != 0)
		return add_whole(inventory, device);
	json_array_foreach (json_object_get(device, "partitions"), i, partition) {
		if (r == 0)
			r = add_partition(
				inventory, device, partition, means_of(framework));
	}
	return r;
}

static int read_partitions(struct clv_vm_inventory *inventory, const json_t *node)
{
	const json_t *device;
	size_t i;
	int r = 0;

	json_array_foreach (json_object_get(node, "devices"), i, device) {
		if (r == 0)
			r = read_device(inventory, device);
	}
	return r;
}

static int add_lease(struct clv_vm_inventory *inventory, const json_t *json)
{
	const char *vm = clv_vm_of_holder(text_of(json, "holder"));
	struct clv_vm_lease *lease;

	if (!vm)
		return 0;
	lease = CLV_APPEND(inventory->leases, inventory->n_leases);
	if (!lease)
		return -ENOMEM;
	snprintf(lease->id, sizeof(lease->id), "%s", text_of(json, "id"));
	snprintf(lease->vm, sizeof(lease->vm), "%s", vm);
	snprintf(lease->partition, sizeof(lease->partition), "%s",
		text_of(json, "device"));
	snprintf(lease->command, sizeof(lease->command), "%s", text_of(json, "command"));
	return 0;
}

static const json_t *find_device(const json_t *devices, const char *name)
{
	const json_t *device;
	size_t i;

	json_array_foreach (json_object_get(devices, "items"), i, device) {
		if (strcmp(text_of(device, "name"), name) == 0)
			return device;
	}
	return NULL;
}

/* A GPU that is cordoned takes no new lease, nor does one that is promised to others
 * while none of them has it, as the member of a pool. */
static void mark_refusing(struct clv_vm_inventory *inventory, const json_t *devices)
{
	for (size_t i = 0; i < inventory->n_partitions; i++) {
		struct clv_vm_partition *partition = &inventory->partitions[i];
		const json_t *device = find_device(devices, partition->device);

		if (json_is_true(json_object_get(device, "cordoned")))
			snprintf(partition->why_not, sizeof(partition->why_not),
				"%.60s is cordoned", partition->device);
		else if (partition->is_whole && !partition->is_held &&
			 json_number_value(json_object_get(device, "share_promised")) > 0)
			snprintf(partition->why_not, sizeof(partition->why_not),
				"%.60s has a standing share, as that of a pool",
				partition->device);
	}
}

/* The device of a lease of a whole GPU that the node does not have now. */
static int add_passed(
	struct clv_vm_inventory *inventory, const json_t *devices, const json_t *lease)
{
	const json_t *leased = json_array_get(json_object_get(lease, "devices"), 0);
	const char *name = text_of(leased, "name");
	const char *address = text_of(leased, "pci_address");
	const json_t *device = find_device(devices, name);
	struct clv_vm_partition *whole;

	if (!clv_vm_of_holder(text_of(lease, "holder")) || !device ||
		!json_is_null(json_object_get(lease, "partition")) ||
		address[0] == '\0' || clv_vm_find_partition(inventory, name) ||
		strcmp(text_of(json_object_get(device, "health"), "state"), "lost") == 0)
		return 0;
	whole = append_whole(
		inventory, name, address, text_of(device, "model"), bytes_of(device));
	if (!whole)
		return -ENOMEM;
	whole->is_held = true;
	snprintf(whole->holder, sizeof(whole->holder), "virtual machine %.80s",
		text_of(lease, "command"));
	return 0;
}

/* The holder of the lease, for people. */
static void describe_holder(const json_t *lease, char ret[80])
{
	if (clv_vm_of_holder(text_of(lease, "holder")))
		snprintf(ret, 80, "virtual machine %.50s", text_of(lease, "command"));
	else
		snprintf(ret, 80, "lease %.32s of %.32s", text_of(lease, "name"),
			text_of(lease, "tenant"));
}

static void add_user(struct clv_vm_partition *whole, const json_t *lease, const char *who)
{
	if (clv_vm_of_holder(text_of(lease, "holder")))
		return;
	if (json_is_true(json_object_get(lease, "kept")) && text_of(lease, "in")[0])
		snprintf(whole->pool_vm, sizeof(whole->pool_vm), "%.63s",
			text_of(lease, "name"));
	else if (whole->user[0] == '\0')
		snprintf(whole->user, sizeof(whole->user), "%s", who);
}

/* A GPU whose driver does not show it may be in the node by another name, as sysfs shows
 * it, while its lease is of the name that the driver's device has.  So the address
 * decides. */
static void hold_at(
	struct clv_vm_inventory *inventory, const char *address, const json_t *lease)
{
	char who[80];

	describe_holder(lease, who);
	for (size_t i = 0; address[0] && i < inventory->n_partitions; i++) {
		struct clv_vm_partition *whole = &inventory->partitions[i];

		if (!whole->is_whole || strcmp(whole->address, address) != 0)
			continue;
		add_user(whole, lease, who);
		if (whole->is_held)
			continue;
		whole->is_held = true;
		snprintf(whole->holder, sizeof(whole->holder), "%.70s as %.24s", who,
			text_of(lease, "device"));
	}
}

static void hold_leased(struct clv_vm_inventory *inventory, const json_t *lease)
{
	const json_t *device;
	size_t i;

	if (strcmp(text_of(lease, "state"), "queued") == 0)
		return;
	json_array_foreach (json_object_get(lease, "devices"), i, device)
		hold_at(inventory, text_of(device, "pci_address"), lease);
}

int clv_vm_inventory_read(const json_t *node, const json_t *devices, const json_t *leases,
	struct clv_vm_inventory *ret)
{
	const json_t *lease;
	size_t i;
	int r;

	*ret = (struct clv_vm_inventory){0};
	snprintf(ret->node, sizeof(ret->node), "%s", text_of(node, "name"));
	r = read_partitions(ret, node);
	mark_refusing(ret, devices);
	json_array_foreach (json_object_get(leases, "items"), i, lease) {
		if (r == 0)
			r = add_lease(ret, lease);
		if (r == 0)
			r = add_passed(ret, devices, lease);
		if (r == 0)
			hold_leased(ret, lease);
	}
	return r;
}

void clv_vm_inventory_clear(struct clv_vm_inventory *inventory)
{
	free(inventory->partitions);
	free(inventory->leases);
	*inventory = (struct clv_vm_inventory){0};
}

const struct clv_vm_partition *clv_vm_find_partition(
	const struct clv_vm_inventory *inventory, const char *name)
{
	for (size_t i = 0; i < inventory->n_partitions; i++) {
		if (strcmp(inventory->partitions[i].name, name) == 0)
			return &inventory->partitions[i];
	}
	return NULL;
}

const struct clv_vm_partition *clv_vm_partition_at(
	const struct clv_vm_inventory *inventory, const char *address)
{
	const struct clv_vm_partition *found = NULL;

	for (size_t i = 0; address[0] && i < inventory->n_partitions; i++) {
		const struct clv_vm_partition *each = &inventory->partitions[i];

		if (strcmp(each->address, address) == 0 &&
			(!found || clv_vm_lease_on(inventory, each->name)))
			found = each;
	}
	return found;
}

const struct clv_vm_lease *clv_vm_lease_by_id(
	const struct clv_vm_inventory *inventory, const char *id)
{
	for (size_t i = 0; i < inventory->n_leases; i++) {
		if (strcmp(inventory->leases[i].id, id) == 0)
			return &inventory->leases[i];
	}
	return NULL;
}

const struct clv_vm_lease *clv_vm_lease_on(
	const struct clv_vm_inventory *inventory, const char *partition)
{
	for (size_t i = 0; i < inventory->n_leases; i++) {
		if (strcmp(inventory->leases[i].partition, partition) == 0)
			return &inventory->leases[i];
	}
	return NULL;
}

const struct clv_vm_lease *clv_vm_lease_of(
	const struct clv_vm_inventory *inventory, const char *uuid)
{
	for (size_t i = 0; i < inventory->n_leases; i++) {
		if (strcmp(inventory->leases[i].vm, uuid) == 0)
			return &inventory->leases[i];
	}
	return NULL;
}

size_t clv_vm_count_leases(const struct clv_vm_inventory *inventory, const char *uuid)
{
	size_t n = 0;

	for (size_t i = 0; i < inventory->n_leases; i++)
		n += strcmp(inventory->leases[i].vm, uuid) == 0;
	return n;
}

bool clv_vm_inventory_has_all(const struct clv_vm_inventory *inventory)
{
	for (size_t i = 0; i < inventory->n_leases; i++) {
		if (!clv_vm_find_partition(inventory, inventory->leases[i].partition))
			return false;
	}
	return true;
}
