/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an entry of a node's devices.  An entry stands for `count` devices; values that
 * differ between them (PCI address, NUMA node, readings) are lists. */
#include "backend/sim/sim.h"

#include "backend/sim/uuid.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMA_NODES_MAX 1024
#define CPUS_DEFAULT "0-7"
#define MEMORY_MIN (UINT64_C(1) << 30)

static const char *const resets[_CLV_SIM_RESET_MAX] = {
	[CLV_SIM_RESET_NONE] = "none",
	[CLV_SIM_RESET_ALLOWED] = "allowed",
	[CLV_SIM_RESET_REFUSED] = "refused",
};

/* An entry.  Values that need the complete entry are kept as YAML and read at the end; a
 * value without yaml is absent. */
struct entry {
	struct clv_sim_device device;
	uint32_t count;
	struct clv_yaml_value numa, pci, readings, at_start;
};

static int read_model(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_sim_product_read(value, into, err);
}

static int read_count(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_sim_read_number(value, 1, CLV_SIM_DEVICES_MAX, into, err);
}

CLV_SIM_DEFINE_READ_PLAIN(read_hive, struct clv_sim_device, hive)

static int read_memory(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t *bytes = into;
	int r = clv_sim_read_bytes(value, bytes, err);

	if (r == 0 && *bytes < MEMORY_MIN)
		return clv_yaml_fail(value, err, -ERANGE, "a device has at least 1G");
	return r;
}

static int read_reset(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = clv_yaml_read_choice(value, resets, _CLV_SIM_RESET_MAX, err);

	if (r < 0)
		return r;
	*(enum clv_sim_reset *)into = (enum clv_sim_reset)r;
	return 0;
}

/* "8" is a number of processors, "0-3,8" a list. */
static int read_cores(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	cpu_set_t *cpus = into;
	uint32_t n;

	if (clv_sim_read_number(value, 1, CPU_SETSIZE, &n, NULL) == 0) {
		for (uint32_t i = 0; i < n; i++)
			CPU_SET(i, cpus);
		return 0;
	}
	if (clv_cpus_parse(clv_yaml_text(value), cpus) < 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is not a list of processors: write how many (8) or "
			"which "
			"(0-3,8)",
			clv_yaml_text(value));
	return 0;
}

#define ENTRY(member) offsetof(struct entry, member)

static const struct clv_yaml_field device_fields[] = {
	{"model", read_model, true, ENTRY(device.product)},
	{"count", read_count, false, ENTRY(count)},
	{"pci", clv_sim_read_value, false, ENTRY(pci)},
	{"numa", clv_sim_read_value, false, ENTRY(numa)},
	{"hive", read_hive, false, ENTRY(device.hive)},
	{"memory", read_memory, false, ENTRY(device.memory_bytes)},
	{"reset", read_reset, false, ENTRY(device.reset)},
	{"sriov", clv_sim_read_sriov, false, ENTRY(device)},
	{"cores", read_cores, false, ENTRY(device.cpus)},
	{"fail", clv_sim_read_calls, false, ENTRY(device.fail_at)},
	{"readings", clv_sim_read_value, false, ENTRY(readings)},
	{"at-start", clv_sim_read_value, false, ENTRY(at_start)},
};

static bool lacks_tables(const struct clv_sim_product *product)
{
	return !product->mig && !product->xcp;
}

static bool is_amd(const struct clv_sim_product *product)
{
	return product->vendor == CLV_SIM_AMD;
}

static bool has_mig(const struct clv_sim_product *product)
{
	return product->mig != NULL;
}

static bool is_gpu(const struct clv_sim_product *product)
{
	return product->vendor != CLV_SIM_CPU;
}

static bool is_cpu(const struct clv_sim_product *product)
{
	return product->vendor == CLV_SIM_CPU;
}

/* Keys that only some products may have. */
static const struct {
	const char *key;
	bool (*may_have)(const struct clv_sim_product *product);
	const char *who;
} special_keys[] = {
	{"hive", is_amd, "AMD's devices"},
	{"reset", has_mig, "GPUs with MIG"},
	{"sriov", is_gpu, "GPUs"},
	{"pci", is_gpu, "GPUs"},
	{"cores", is_cpu, "the CPU"},
	{"memory", lacks_tables, "devices whose memory is in no table"},
};

static int check_keys(struct clv_yaml_value map, const struct clv_sim_product *product,
	struct clv_error *err)
{
	struct clv_yaml_value value;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(special_keys); i++) {
		if (clv_yaml_find(map, special_keys[i].key, &value) &&
			!special_keys[i].may_have(product))
			return clv_yaml_fail(value, err, -EINVAL,
				"%s cannot have '%s': that is for %s", product->name,
				special_keys[i].key, special_keys[i].who);
	}
	return 0;
}

/* Sets the model's defaults, before the entry's own values are read over them. */
static int begin_with_model(
	struct clv_yaml_value map, struct clv_sim_device *device, struct clv_error *err)
{
	struct clv_sim_product product;
	struct clv_yaml_value model;
	int r;

	device->numa_node = -1;
	if (!clv_yaml_find(map, "model", &model))
		return 0;
	r = clv_sim_product_read(model, &product, err);
	if (r < 0)
		return r;
	device->mig = product.mig;
	device->xcp = product.xcp;
	device->memory_bytes = product.memory_bytes;
	device->compute_units = product.compute_units;
	device->reset = product.reset;
	device->vf_total = product.vf_total;
	device->vf_framework = product.vf_framework;
	return check_keys(map, &product, err);
}

static void finish_cores(struct clv_sim_device *device)
{
	if (device->product.vendor != CLV_SIM_CPU)
		return;
	if (CPU_COUNT(&device->cpus) == 0)
		clv_cpus_parse(CPUS_DEFAULT, &device->cpus);
	device->compute_units = (uint32_t)CPU_COUNT(&device->cpus);
}

static int finish_start(
	const struct entry *entry, struct clv_sim_device *device, struct clv_error *err)
{
	int r = 0;

	clv_sim_state_init(device);
	if (entry->at_start.yaml)
		r = clv_sim_state_read(entry->at_start, device, err);
	device->begin = device->state;
	return r;
}

/* --- From the entry to its devices --- */

/* Item i of a list with one item for each device; a value that is not a list is for all.
 */
static int pick(struct clv_yaml_value value, uint32_t count, uint32_t i,
	struct clv_yaml_value *ret, struct clv_error *err)
{
	if (clv_yaml_kind(value) != CLV_YAML_LIST) {
		*ret = value;
		return 0;
	}
	if (clv_yaml_count(value) != count)
		return clv_yaml_fail(value, err, -EINVAL,
			"%zu are listed and there are %u devices", clv_yaml_count(value),
			count);
	*ret = clv_yaml_item(value, i);
	return 0;
}

static int place_on_numa(const struct entry *entry, uint32_t i,
	struct clv_sim_device *device, struct clv_error *err)
{
	struct clv_yaml_value value;
	uint32_t node;
	int r;

	if (!entry->numa.yaml)
		return 0;
	r = pick(entry->numa, entry->count, i, &value, err);
	if (r == 0)
		r = clv_sim_read_number(value, 0, NUMA_NODES_MAX - 1, &node, err);
	if (r == 0)
		device->numa_node = (int32_t)node;
	return r;
}

static int read_pci(
	struct clv_yaml_value value, struct clv_sim_device *device, struct clv_error *err)
{
	if (!clv_is_pci_address(clv_yaml_text(value)))
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is not a PCI address: write it as 0000:3b:00.0",
			clv_yaml_text(value));
	return clv_yaml_read_text(
		value, device->pci_address, sizeof(device->pci_address), err);
}

static int place_on_bus(const struct entry *entry, uint32_t i,
	struct clv_sim_device *device, struct clv_error *err)
{
	struct clv_yaml_value value;
	int r;

	if (device->product.vendor == CLV_SIM_CPU)
		return 0;
	if (!entry->pci.yaml) {
		/* Three buses for each device: bridge, device, and virtual functions. */
		snprintf(device->pci_address, sizeof(device->pci_address),
			"%04x:%02x:00.0", device->index / 64,
			(0x11 + 3 * (device->index % 64)) & 0xff);
		return 0;
	}
	r = pick(entry->pci, entry->count, i, &value, err);
	return r < 0 ? r : read_pci(value, device, err);
}

static int read_reading(const struct entry *entry, uint32_t i,
	struct clv_sim_device *device, struct clv_error *err)
{
	struct clv_yaml_value value;
	int r;

	clv_reading_begin(&device->reading, device->uuid);
	if (!entry->readings.yaml)
		return 0;
	r = pick(entry->readings, entry->count, i, &value, err);
	return r < 0 ? r : clv_sim_read_reading(value, &device->reading, err);
}

static void make_uuid(const struct clv_sim *sim, struct clv_sim_device *device)
{
	bool is_nvidia = device->product.vendor == CLV_SIM_NVIDIA;
	char name[96], uuid[CLV_SIM_UUID_TEXT];

	snprintf(name, sizeof(name), "%s/%u", sim->name, device->index);
	clv_sim_uuid(clv_sim_uuid_space, name, uuid);
	snprintf(device->uuid, sizeof(device->uuid), "%s%s", is_nvidia ? "GPU-" : "",
		uuid);
}

static int check_bus(const struct clv_sim *sim, const struct clv_sim_device *device,
	struct clv_yaml_value map, struct clv_error *err)
{
	for (size_t i = 0; i < sim->n_devices; i++) {
		if (device->pci_address[0] != '\0' &&
			strcmp(sim->devices[i].pci_address, device->pci_address) == 0)
			return clv_yaml_fail(map, err, -EINVAL,
				"device %zu is at %s, too: set other addresses with "
				"'pci'",
				i, device->pci_address);
	}
	return 0;
}

static int add_device(struct clv_yaml_value map, const struct entry *entry, uint32_t i,
	struct clv_sim *sim, struct clv_error *err)
{
	struct clv_sim_device *device;
	int r;

	if (sim->n_devices == CLV_SIM_DEVICES_MAX)
		return clv_yaml_fail(
			map, err, -E2BIG, "more than %d devices", CLV_SIM_DEVICES_MAX);
	if (!clv_array_grow((void **)&sim->devices, sim->n_devices, sizeof(*device)))
		return clv_error_errno(err, ENOMEM, "cannot read the devices");
	device = &sim->devices[sim->n_devices];
	*device = entry->device;
	device->index = (uint32_t)sim->n_devices;
	make_uuid(sim, device);
	r = place_on_numa(entry, i, device, err);
	if (r == 0)
		r = place_on_bus(entry, i, device, err);
	if (r == 0)
		r = check_bus(sim, device, map, err);
	if (r == 0)
		r = read_reading(entry, i, device, err);
	if (r == 0)
		sim->n_devices++;
	return r;
}

int clv_sim_read_device(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct entry entry = {.count = 1};
	int r = begin_with_model(value, &entry.device, err);

	if (r == 0)
		r = clv_yaml_read_map(
			value, device_fields, CLV_ARRAY_SIZE(device_fields), &entry, err);
	if (r < 0)
		return r;
	finish_cores(&entry.device);
	r = finish_start(&entry, &entry.device, err);
	for (uint32_t i = 0; i < entry.count && r == 0; i++)
		r = add_device(value, &entry, i, into, err);
	return r;
}
