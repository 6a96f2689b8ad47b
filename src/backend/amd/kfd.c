/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /sys/class/kfd.  The nodes of one GPU's partitions have its bus and device in
 * location_id.  Depending on its version the driver stores the partition's index in the
 * function bits or in the top four bits, so both are masked out; KFD adds the nodes of a
 * GPU in the order of its partitions. */
#include "backend/amd/kfd.h"

#include "backend/files.h"
#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES "class/kfd/kfd/topology/nodes"
#define PROCESSES "class/kfd/kfd/proc"
#define BUS_AND_DEVICE 0xfff8u

/* The value of a line "NAME VALUE"; 0 if there is none. */
static uint64_t property(const char *text, const char *name)
{
	size_t length = strlen(name);

	while (text) {
		if (strncmp(text, name, length) == 0 && text[length] == ' ')
			return strtoull(text + length, NULL, 10);
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return 0;
}

static uint64_t read_memory(const char *node)
{
	_cleanup_names_ struct clv_names banks = {0};
	char text[CLV_FILE_TEXT_MAX];
	uint64_t bytes = 0;

	if (clv_file_list(&banks, NODES "/%s/mem_banks", node) < 0)
		return 0;
	for (size_t i = 0; i < banks.n; i++) {
		if (clv_file_read(text, sizeof(text), NODES "/%s/mem_banks/%s/properties",
			    node, banks.items[i]) > 0)
			bytes += property(text, "size_in_bytes");
	}
	return bytes;
}

static int add_node(struct clv_kfd *kfd, const char *name)
{
	char text[CLV_FILE_TEXT_MAX];
	struct clv_kfd_node *node;
	uint64_t gpu_id = 0, simds_per_cu;

	/* Nodes of CPUs have gpu_id 0.  Nodes that a device cgroup hides cannot be read.
	 */
	if (clv_file_read_number(&gpu_id, NODES "/%s/gpu_id", name) < 0 || gpu_id == 0 ||
		clv_file_read(text, sizeof(text), NODES "/%s/properties", name) < 0)
		return 0;
	node = CLV_APPEND(kfd->nodes, kfd->n_nodes);
	if (!node)
		return -ENOMEM;
	simds_per_cu = property(text, "simd_per_cu");
	*node = (struct clv_kfd_node){
		.gpu_id = (uint32_t)gpu_id,
		.domain = (uint32_t)property(text, "domain"),
		.location = (uint32_t)property(text, "location_id"),
		.render_minor = (uint32_t)property(text, "drm_render_minor"),
		.dies = (uint32_t)property(text, "num_xcc"),
		.target = (uint32_t)property(text, "gfx_target_version"),
		.unique_id = property(text, "unique_id"),
		.memory_bytes = read_memory(name),
	};
	if (simds_per_cu > 0)
		node->compute_units =
			(uint32_t)(property(text, "simd_count") / simds_per_cu);
	return 0;
}

static bool has_queue(const char *pid, uint32_t gpu_id)
{
	_cleanup_names_ struct clv_names queues = {0};
	uint64_t id;

	if (clv_file_list(&queues, PROCESSES "/%s/queues", pid) < 0)
		return false;
	for (size_t i = 0; i < queues.n; i++) {
		if (clv_file_read_number(&id, PROCESSES "/%s/queues/%s/gpuid", pid,
			    queues.items[i]) == 0 &&
			id == gpu_id)
			return true;
	}
	return false;
}

/* cu_occupancy exists since Linux 5.9, on GPUs whose waves can be counted. */
static bool read_busy_units(const char *pid, uint32_t gpu_id, uint32_t *ret)
{
	uint64_t n = 0;

	if (clv_file_read_number(&n, PROCESSES "/%s/stats_%u/cu_occupancy", pid, gpu_id) <
		0)
		return false;
	*ret = (uint32_t)n;
	return true;
}

/* A process has a file vram_GPUID for each node that it may use. */
static int add_uses(struct clv_kfd *kfd, const char *pid)
{
	_cleanup_names_ struct clv_names files = {0};

	if (clv_file_list(&files, PROCESSES "/%s", pid) < 0)
		return 0; /* the process has just ended */
	for (size_t i = 0; i < files.n; i++) {
		struct clv_kfd_use *use;
		uint64_t bytes = 0;
		unsigned gpu_id;

		if (sscanf(files.items[i], "vram_%u", &gpu_id) != 1)
			continue;
		use = CLV_APPEND(kfd->uses, kfd->n_uses);
		if (!use)
			return -ENOMEM;
		use->pid = (uint32_t)strtoul(pid, NULL, 10);
		use->gpu_id = gpu_id;
		clv_file_read_number(&bytes, PROCESSES "/%s/%s", pid, files.items[i]);
		use->memory_bytes = bytes;
		use->has_busy_units = read_busy_units(pid, gpu_id, &use->busy_units);
		use->is_active = bytes > 0 || has_queue(pid, gpu_id);
	}
	return 0;
}

static int for_each(struct clv_kfd *kfd, const struct clv_names *names,
	int (*add)(struct clv_kfd *kfd, const char *name))
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < names->n; i++)
		r = add(kfd, names->items[i]);
	return r;
}

int clv_kfd_read_uses(struct clv_kfd *kfd)
{
	_cleanup_names_ struct clv_names processes = {0};

	free(kfd->uses);
	kfd->uses = NULL;
	kfd->n_uses = 0;
	kfd->has_processes = clv_file_list(&processes, PROCESSES) == 0;
	return for_each(kfd, &processes, add_uses);
}

int clv_kfd_read(struct clv_kfd *ret)
{
	_cleanup_names_ struct clv_names nodes = {0};
	struct clv_kfd kfd = {0};
	int r = 0;

	if (clv_file_list(&nodes, NODES) == 0)
		r = for_each(&kfd, &nodes, add_node);
	if (r == 0)
		r = clv_kfd_read_uses(&kfd);
	if (r < 0) {
		clv_kfd_clear(&kfd);
		return r;
	}
	*ret = kfd;
	return 0;
}

void clv_kfd_clear(struct clv_kfd *kfd)
{
	free(kfd->nodes);
	free(kfd->uses);
	*kfd = (struct clv_kfd){0};
}

const struct clv_kfd_node *clv_kfd_find(
	const struct clv_kfd *kfd, const char *pci_address, unsigned number)
{
	unsigned domain, bus, device, function;
	uint32_t location;

	if (sscanf(pci_address, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return NULL;
	location = bus << 8 | device << 3;
	for (size_t i = 0; i < kfd->n_nodes; i++) {
		const struct clv_kfd_node *node = &kfd->nodes[i];

		if (node->domain == domain &&
			(node->location & BUS_AND_DEVICE) == location && number-- == 0)
			return node;
	}
	return NULL;
}

void clv_kfd_number(
	const struct clv_kfd *kfd, const struct clv_kfd_node *node, char ret[16])
{
	snprintf(ret, 16, "%zu", (size_t)(node - kfd->nodes));
}

void clv_kfd_make_uuid(uint64_t unique_id, char *ret, size_t ret_bytes)
{
	snprintf(ret, ret_bytes, "GPU-%016llx", (unsigned long long)unique_id);
}
