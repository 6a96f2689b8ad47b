/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a GPU's partitions and the holders of the GPU and of each partition.  Partition 0
 * has the render node of the PCI function; each further partition has the render node of
 * a platform device, which KFD reports. */
#include "backend/amd/amd.h"

#include "backend/files.h"
#include "base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int clv_amd_snapshot_read(struct clv_amd_snapshot *ret)
{
	static const char *const devices[] = {"/dev/kfd", "/dev/dri/renderD"};
	struct clv_amd_snapshot scene = {0};
	int r = clv_kfd_read(&scene.kfd);

	if (r < 0)
		return r;
	r = clv_openers_find(devices, CLV_ARRAY_SIZE(devices), &scene.openers);
	if (r < 0) {
		clv_amd_snapshot_clear(&scene);
		return r;
	}
	*ret = scene;
	return 0;
}

void clv_amd_snapshot_clear(struct clv_amd_snapshot *scene)
{
	clv_kfd_clear(&scene->kfd);
	clv_openers_clear(&scene->openers);
}

static int add_users_of_node(const struct clv_amd_snapshot *scene,
	const struct clv_kfd_node *node, bool only_active, struct clv_holders *holders)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < scene->kfd.n_uses; i++) {
		const struct clv_kfd_use *use = &scene->kfd.uses[i];

		if (use->gpu_id == node->gpu_id && (use->is_active || !only_active))
			r = clv_holders_add_process(holders, use->pid);
	}
	return r;
}

static int add_openers_of_render_node(const struct clv_amd_snapshot *scene,
	const char *name, struct clv_holders *holders)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/dri/%.40s", name);
	return clv_openers_add_holders(&scene->openers, path, holders);
}

/* The name of the PCI function's render node; "" if there is none. */
static void get_own_render_node(const struct clv_node_device *device, char ret[32])
{
	_cleanup_names_ struct clv_names names = {0};

	ret[0] = '\0';
	if (clv_file_list(&names, "bus/pci/devices/%s/drm", device->pci_address) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		if (strncmp(names.items[i], "renderD", 7) == 0)
			snprintf(ret, 32, "%.31s", names.items[i]);
	}
}

int clv_amd_add_holders(
	const struct clv_amd_snapshot *scene, struct clv_node_device *device)
{
	const struct clv_kfd_node *node;
	char name[32];
	int r = 0;

	for (unsigned i = 0;
		r == 0 && (node = clv_kfd_find(&scene->kfd, device->pci_address, i)); i++)
		r = add_users_of_node(scene, node, false, &device->holders);
	/* A driver without a list of processes counts all that have /dev/kfd open. */
	if (r == 0 && !scene->kfd.has_processes)
		r = clv_openers_add_holders(
			&scene->openers, "/dev/kfd", &device->holders);
	get_own_render_node(device, name);
	if (r == 0 && name[0] != '\0')
		r = add_openers_of_render_node(scene, name, &device->holders);
	return r;
}

/* Older drivers give all partitions the id of their GPU, which cannot select one. */
static bool is_unique(const struct clv_kfd *kfd, const struct clv_kfd_node *node)
{
	for (size_t i = 0; i < kfd->n_nodes; i++) {
		if (&kfd->nodes[i] != node && kfd->nodes[i].unique_id == node->unique_id)
			return false;
	}
	return node->unique_id != 0;
}

static int read_node(const struct clv_amd_snapshot *scene,
	const struct clv_kfd_node *node, struct clv_node_device *device,
	struct clv_partition *part)
{
	int r;

	if (node->memory_bytes > 0)
		part->memory_bytes = node->memory_bytes;
	if (node->compute_units > 0)
		part->compute_units = node->compute_units;
	if (is_unique(&scene->kfd, node))
		clv_kfd_make_uuid(node->unique_id, part->uuid, sizeof(part->uuid));
	else
		clv_kfd_number(&scene->kfd, node, part->visible);
	if (node->render_minor > 0)
		snprintf(part->address, sizeof(part->address), "renderD%u",
			node->render_minor);
	r = add_users_of_node(scene, node, true, &part->holders);
	if (r < 0 || part->address[0] == '\0')
		return r;
	r = add_openers_of_render_node(scene, part->address, &part->holders);
	if (r < 0)
		return r;
	return add_openers_of_render_node(scene, part->address, &device->holders);
}

static int add_partition(const struct clv_amd_snapshot *scene,
	struct clv_node_device *device, unsigned number, unsigned n)
{
	const struct clv_kfd_node *node =
		clv_kfd_find(&scene->kfd, device->pci_address, number);
	struct clv_partition *part = clv_node_add_partition(device);
	const char *memory = clv_memory_mode_to_string(device->xcp.memory);

	assert(number < n);
	if (!part)
		return -ENOMEM;
	part->start = number;
	part->size = 1;
	part->compute_units = device->info.compute_units / n;
	part->memory_bytes = device->info.memory_bytes / n;
	part->memory_part = clv_xcp_memory_part(device->xcp.compute,
		(enum clv_memory_mode)device->xcp.memory, device->xcp.dies, number);
	snprintf(part->profile, sizeof(part->profile), "%s/%s",
		clv_compute_mode_to_string(device->xcp.compute), memory);
	if (number == 0)
		get_own_render_node(device, part->address);
	return node ? read_node(scene, node, device, part) : 0;
}

int clv_amd_add_partitions(
	const struct clv_amd_snapshot *scene, struct clv_node_device *device)
{
	unsigned n = 0;
	int r = 0;

	if (device->scheme != CLV_SCHEME_XCP)
		return 0;
	while (clv_kfd_find(&scene->kfd, device->pci_address, n))
		n++;
	/* Without KFD the number of partitions follows from the mode. */
	if (n < 2)
		n = clv_xcp_devices(device->xcp.compute, device->xcp.dies);
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = add_partition(scene, device, i, n);
	return r;
}
