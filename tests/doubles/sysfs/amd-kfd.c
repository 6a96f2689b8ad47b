/* SPDX-License-Identifier: Apache-2.0 */
#include "amd.h"
#include "holders.h"
#include "tree.h"
#include "world.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The compute driver's topology, after kfd_topology.c: the processors first, then a node
 * for each partition in the order in which the devices appeared, and the processes'
 * usage. */

#define MOST_DEVICES 64
#define KFD "/devices/virtual/kfd/kfd"

void sy_kfd_renew(struct sy_function *f)
{
	sy_world.kfd_generation++;
	f->amd.kfd_order = 0;
	if (strcmp(f->driver, "amdgpu") == 0 && !f->amd.kfd_is_dead)
		f->amd.kfd_order = sy_world.kfd_generation;
}

/* Not the driver's hash, but with its properties: never 0, and different for each
 * mode. */
static unsigned gpu_id(const struct sy_function *f, unsigned part)
{
	unsigned hash = 2166136261U;
	char text[64];

	sy_print(text, sizeof(text), "%s %s %u", f->bdf, sy_compute_names[f->amd.compute],
		part);
	for (const char *p = text; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619U;
	return (hash >> 16 ^ hash) & 0xffff ? (hash >> 16 ^ hash) & 0xffff : 1;
}

static unsigned parts_of(const struct sy_function *f)
{
	return sy_amd_is_partitionable(&f->amd) ? sy_amd_parts(&f->amd, f->amd.compute)
						: 1;
}

static uint64_t bytes_of(const struct sy_function *f)
{
	unsigned memory = sy_amd_memory_parts(&f->amd), parts = parts_of(f);
	uint64_t bytes = f->amd.vram_bytes / memory;

	if (parts > memory)
		bytes /= parts / memory;
	return bytes & ~4095ULL;
}

struct property {
	const char *name;
	uint64_t value;
};

static void add_properties(
	struct sy_node *node, const char *name, const struct property *rows, size_t n)
{
	struct sy_text text = {0};

	for (size_t i = 0; i < n; i++)
		sy_add(&text, "%s %" PRIu64 "\n", rows[i].name, rows[i].value);
	sy_fixed(node, name, "%s", text.data);
	sy_text_free(&text);
}

static void add_bank(struct sy_node *node, unsigned heap, uint64_t bytes)
{
	const struct property rows[] = {
		{"heap_type", heap},
		{"size_in_bytes", bytes},
		{"flags", 0},
		{"width", heap ? 8192 : 64},
		{"mem_clk_max", heap ? 1300 : 0},
	};

	add_properties(sy_dir(sy_dir(node, "mem_banks"), "0"), "properties", rows,
		SY_COUNT(rows));
}

static void build_processor(unsigned number)
{
	struct sy_node *node = sy_make(KFD "/topology/nodes/%u", number);
	const struct property rows[] = {
		{"cpu_cores_count", 64},
		{"simd_count", 0},
		{"mem_banks_count", 1},
		{"vendor_id", 0},
		{"device_id", 0},
		{"drm_render_minor", 0},
	};

	sy_fixed(node, "gpu_id", "0\n");
	sy_fixed(node, "name", "\n");
	add_properties(node, "properties", rows, SY_COUNT(rows));
	add_bank(node, 0, 512ULL << 30);
}

/* With several partitions their number replaces the function's, which is 0. */
static uint64_t location_of(const struct sy_function *f, unsigned part)
{
	return (uint64_t)f->bus << 8 | f->devfn | (parts_of(f) > 1 ? part : 0);
}

static void build_part(const struct sy_function *f, unsigned part, unsigned number)
{
	struct sy_node *node = sy_make(KFD "/topology/nodes/%u", number);
	unsigned parts = parts_of(f);
	uint64_t units = f->amd.compute_units / parts;
	const struct property rows[] = {
		{"cpu_cores_count", 0},
		{"simd_count", units * 4},
		{"mem_banks_count", 1},
		{"caches_count", 0},
		{"io_links_count", 0},
		{"simd_id_base", 2147487744U + number * 4096},
		{"max_waves_per_simd", 8},
		{"lds_size_in_kb", f->amd.gfx_version >= 90500 ? 160 : 64},
		{"wave_front_size", 64},
		{"simd_per_cu", 4},
		{"gfx_target_version", f->amd.gfx_version},
		{"vendor_id", f->vendor},
		{"device_id", f->device},
		{"location_id", location_of(f, part)},
		{"domain", f->domain},
		{"drm_render_minor", f->render + part},
		{"hive_id", f->amd.hive},
		{"num_sdma_engines", 2},
		{"local_mem_size", 0},
		{"num_xcc", f->amd.dies ? f->amd.dies / parts : 1},
	};

	sy_fixed(node, "gpu_id", "%u\n", gpu_id(f, part));
	sy_fixed(node, "name", "gfx%" PRIu64 "\n", f->amd.gfx_version);
	add_properties(node, "properties", rows, SY_COUNT(rows));
	add_bank(node, 1, bytes_of(f));
}

static int by_order(const void *a, const void *b)
{
	const struct sy_function *const *one = a, *const *other = b;

	return (*one)->amd.kfd_order < (*other)->amd.kfd_order ? -1 : 1;
}

static void build_processes(const struct sy_function *f)
{
	for (const struct sy_holder *h = NULL;
		(h = sy_holder_next(SY_HOLDS_KFD, f->bdf, h));) {
		struct sy_node *process = sy_make(KFD "/proc/%d", h->pid);
		char name[32];

		if (!process->first)
			sy_fixed(process, "pasid", "%d\n", 0x8000 + (h->pid & 0xfff));
		for (unsigned part = 0; part < parts_of(f); part++) {
			sy_print(name, sizeof(name), "vram_%u", gpu_id(f, part));
			sy_fixed(process, name, "%" PRIu64 "\n", part ? 0 : h->bytes);
			sy_print(name, sizeof(name), "stats_%u", gpu_id(f, part));
			sy_fixed(sy_dir(process, name), "cu_occupancy", "%u\n",
				part ? 0 : h->units);
		}
	}
}

void sy_kfd_build(void)
{
	struct sy_function *devices[MOST_DEVICES];
	size_t n = 0;
	unsigned number = (unsigned)sy_world.cpu_nodes;

	for (struct sy_function *f = NULL; (f = sy_next(f));) {
		if (f->is_present && f->amd.kfd_order && n < MOST_DEVICES)
			devices[n++] = f;
	}
	if (!n)
		return;
	qsort(devices, n, sizeof(devices[0]), by_order);
	sy_link(sy_make("/class/kfd"), "kfd", KFD);
	sy_fixed(sy_make(KFD "/topology"), "generation_id", "%" PRIu64 "\n",
		sy_world.kfd_generation);
	sy_make(KFD "/proc");
	for (unsigned i = 0; i < sy_world.cpu_nodes; i++)
		build_processor(i);
	for (size_t i = 0; i < n; i++) {
		for (unsigned part = 0; part < parts_of(devices[i]); part++)
			build_part(devices[i], part, number++);
		build_processes(devices[i]);
	}
}
