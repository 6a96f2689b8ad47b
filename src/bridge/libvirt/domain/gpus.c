/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/libvirt/domain/gpus.h"

#include "base/cleanup.h"
#include "bridge/libvirt/domain/inventory.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define COUNTS_MAX 64

const char *clv_vm_gpu_status_text(const char *status)
{
	static const struct {
		const char *status, *text;
	} texts[] = {
		{"whole", "ready for whole-GPU assignment"},
		{"partitioned", "partitioned"},
		{"sriov_off", "capable, SR-IOV off"},
		{"none", "not assignable"},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(texts); i++) {
		if (strcmp(texts[i].status, status) == 0)
			return texts[i].text;
	}
	return "";
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static uint64_t number_of(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

/* The numbers of functions that the driver allows; without a list of its own all up to
 * the most. */
static json_t *list_counts(const json_t *vf)
{
	uint64_t allowed = number_of(vf, "counts"), total = number_of(vf, "total");
	json_t *counts = json_array();

	if (!json_is_true(json_object_get(vf, "capable")))
		return counts;
	for (uint64_t n = 1; n <= total && n <= COUNTS_MAX; n++) {
		if (allowed == 0 || (allowed >> (n - 1) & 1))
			json_array_append_new(counts, json_integer((json_int_t)n));
	}
	return counts;
}

/* Puts the numbers of engines of the API's object into that of a GPU or partition. */
static void put_engines(json_t *to, const json_t *from)
{
	static const struct {
		const char *key, *engine;
	} engines[] = {{"encoders", "encode"}, {"decoders", "decode"}};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(engines); i++) {
		json_t *n = json_object_get(
			json_object_get(from, "engines"), engines[i].engine);

		json_object_set_new(to, engines[i].key, n ? json_incref(n) : json_null());
	}
}

/* The lease that a virtual machine has of the partition; NULL: none. */
static const json_t *find_lease(const json_t *leases, const char *partition)
{
	const json_t *lease;
	size_t i;

	json_array_foreach (json_object_get(leases, "items"), i, lease) {
		if (strcmp(text_of(lease, "device"), partition) == 0 &&
			clv_vm_of_holder(text_of(lease, "holder")))
			return lease;
	}
	return NULL;
}

static json_t *partition_to_json(const json_t *partition, const json_t *leases)
{
	const char *name = text_of(partition, "name");
	const json_t *lease = find_lease(leases, name);
	json_t *object = json_pack("{s:s, s:s, s:s, s:I, s:s?, s:s?}", "name", name,
		"profile", text_of(partition, "profile"), "address",
		text_of(partition, "address"), "memory_bytes",
		(json_int_t)number_of(partition, "memory_bytes"), "vm",
		lease ? clv_vm_of_holder(text_of(lease, "holder")) : NULL, "vm_name",
		lease ? text_of(lease, "command") : NULL);

	put_engines(object, partition);
	return object;
}

/* Fills in the partitions and what is free of them. */
static void put_partitions(json_t *gpu, const json_t *device, const json_t *leases)
{
	bool is_divided = strcmp(text_of(device, "scheme"), "vf") == 0;
	uint64_t free_bytes = is_divided ? 0 : number_of(device, "memory_bytes");
	json_t *partitions = json_array(), *partition;
	size_t i;

	json_array_foreach (json_object_get(device, "partitions"), i, partition) {
		if (!is_divided)
			break;
		if (json_array_size(json_object_get(partition, "holders")) == 0)
			free_bytes += number_of(partition, "memory_bytes");
		json_array_append_new(partitions, partition_to_json(partition, leases));
	}
	json_object_set_new(
		gpu, "count", json_integer((json_int_t)json_array_size(partitions)));
	json_object_set_new(gpu, "free_bytes", json_integer((json_int_t)free_bytes));
	json_object_set_new(gpu, "partitions", partitions);
}

/* The machine that has the whole GPU; lease may be NULL. */
static void put_machine(json_t *gpu, const json_t *lease)
{
	const char *vm = lease ? clv_vm_of_holder(text_of(lease, "holder")) : NULL;

	json_object_set_new(gpu, "vm", vm ? json_string(vm) : json_null());
	json_object_set_new(gpu, "vm_name",
		vm ? json_string(text_of(lease, "command")) : json_null());
	if (vm) {
		json_object_set_new(gpu, "why", json_null());
		json_object_set_new(gpu, "free_bytes", json_integer(0));
	}
}

static json_t *gpu_to_json(const json_t *device, const json_t *leases)
{
	const char *why =
		json_string_value(json_object_get(device, "why_not_assignable"));
	json_t *gpu = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?, s:I, s:o}", "name",
		text_of(device, "name"), "uuid", text_of(device, "uuid"), "model",
		text_of(device, "model"), "pci_address", text_of(device, "pci_address"),
		"status", text_of(device, "assignable"), "why", why, "memory_bytes",
		(json_int_t)number_of(device, "memory_bytes"), "counts",
		list_counts(json_object_get(device, "vf")));

	put_engines(gpu, device);
	put_partitions(gpu, device, leases);
	put_machine(gpu, find_lease(leases, text_of(device, "name")));
	return gpu;
}

static const json_t *find_named(const json_t *array, const char *name)
{
	const json_t *object;
	size_t i;

	json_array_foreach (array, i, object) {
		if (strcmp(text_of(object, "name"), name) == 0)
			return object;
	}
	return NULL;
}

/* The GPU of a lease of a machine that has it as a whole; NULL: it is none. */
static const json_t *passed_by(const json_t *lease)
{
	const json_t *gpu = json_array_get(json_object_get(lease, "devices"), 0);

	return clv_vm_of_holder(text_of(lease, "holder")) &&
			       json_is_null(json_object_get(lease, "partition")) &&
			       text_of(gpu, "pci_address")[0]
		       ? gpu
		       : NULL;
}

/* Whether a lease has the device of this address under another name. */
static bool is_another_name(const json_t *device, const json_t *leases)
{
	const json_t *lease, *gpu;
	size_t i;

	json_array_foreach (json_object_get(leases, "items"), i, lease) {
		gpu = passed_by(lease);
		if (gpu &&
			strcmp(text_of(gpu, "pci_address"),
				text_of(device, "pci_address")) == 0 &&
			strcmp(text_of(gpu, "name"), text_of(device, "name")) != 0)
			return true;
	}
	return false;
}

/* A GPU that the node does not have, as a device of the node. */
static json_t *passed_to_json(
	const json_t *gpu, const json_t *devices, const json_t *leases)
{
	const char *name = text_of(gpu, "name");
	const json_t *known = find_named(json_object_get(devices, "items"), name);
	json_t *device = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "name", name, "uuid",
		text_of(gpu, "uuid"), "model", text_of(known, "model"), "pci_address",
		text_of(gpu, "pci_address"), "assignable", "none", "memory_bytes",
		(json_int_t)number_of(known, "memory_bytes"));
	json_t *object = gpu_to_json(device, leases);

	json_decref(device);
	return object;
}

json_t *clv_vm_gpus(const json_t *node, const json_t *devices, const json_t *leases)
{
	const json_t *in_node = json_object_get(node, "devices"), *device, *lease, *gpu;
	json_t *gpus = json_array();
	size_t i;

	json_array_foreach (in_node, i, device) {
		/* The processor, as OpenCL sees it. */
		if (strcmp(text_of(device, "type"), "cpu") != 0 &&
			!is_another_name(device, leases))
			json_array_append_new(gpus, gpu_to_json(device, leases));
	}
	json_array_foreach (json_object_get(leases, "items"), i, lease) {
		gpu = passed_by(lease);
		if (gpu && !find_named(in_node, text_of(gpu, "name")))
			json_array_append_new(gpus, passed_to_json(gpu, devices, leases));
	}
	return gpus;
}
