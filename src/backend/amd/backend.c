/* SPDX-License-Identifier: Apache-2.0 */
/* The backend's vtable, and the discovery of GPUs: PCI functions of AMD that are bound to
 * amdgpu. */
#include "backend/amd/amd.h"

#include "backend/files.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "core/gpu/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER "amdgpu"

static int amd_probe(struct clv_backend **ret, struct clv_error *err)
{
	struct clv_amd_backend *backend;
	int r = clv_amd_complete_reload(err);

	if (r < 0)
		return r;
	if (!clv_file_exists("bus/pci/drivers/" DRIVER))
		return clv_error_set(err, -ENODEV,
			"the driver amdgpu is not loaded: if there is an AMD GPU, "
			"load it with modprobe amdgpu");
	backend = calloc(1, sizeof(*backend));
	if (!backend)
		return clv_error_errno(err, ENOMEM, "cannot open the amd backend");
	backend->base.ops = &clv_backend_amd;
	clv_amd_requests_load(backend);
	*ret = &backend->base;
	return 0;
}

static void amd_free(struct clv_backend *base)
{
	struct clv_amd_backend *backend = (struct clv_amd_backend *)base;

	if (!backend)
		return;
	clv_kfd_clear(&backend->topology);
	free(backend->requests);
	free(backend);
}

static int add_device(struct clv_amd_backend *backend, const struct clv_pci *pci,
	const struct clv_amd_snapshot *scene, struct clv_node *node, uint32_t index)
{
	struct clv_node_device *device = clv_node_add(node);

	if (!device)
		return -ENOMEM;
	device->index = index;
	return clv_amd_read_device(backend, pci, scene, device);
}

/* Reports a GPU that could be divided but has no driver. */
static int note_without_driver(const struct clv_pci *pci, struct clv_node *node)
{
	bool is_virtual;
	const struct clv_gpu *gpu =
		clv_gpu_find_pci(CLV_GPU_AMD, pci->device, &is_virtual);
	char problem[160];

	if (!gpu || is_virtual || pci->driver[0] != '\0')
		return 0;
	snprintf(problem, sizeof(problem),
		"the AMD %s at %s has no driver: load it with modprobe amdgpu", gpu->name,
		pci->address);
	return clv_node_add_problem(node, problem);
}

static bool is_amd_gpu(const char *address, struct clv_pci *ret)
{
	return clv_pci_read(address, ret) == 0 && ret->vendor == CLV_PCI_VENDOR_AMD &&
	       clv_pci_is_gpu(ret);
}

static int survey_all(struct clv_amd_backend *backend, const struct clv_names *names,
	const struct clv_amd_snapshot *scene, struct clv_node *node)
{
	uint32_t index = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < names->n; i++) {
		struct clv_pci pci;

		if (!is_amd_gpu(names->items[i], &pci))
			continue;
		if (strcmp(pci.driver, DRIVER) == 0)
			r = add_device(backend, &pci, scene, node, index++);
		else
			r = note_without_driver(&pci, node);
	}
	return r;
}

static int amd_survey(
	struct clv_backend *base, struct clv_node *node, struct clv_error *err)
{
	_cleanup_names_ struct clv_names names = {0};
	_cleanup_scene_ struct clv_amd_snapshot scene = {0};
	int r = clv_amd_complete_reload(err);

	if (r < 0)
		return r;
	clv_kfd_clear(&((struct clv_amd_backend *)base)->topology);
	r = clv_file_list(&names, "bus/pci/devices");
	if (r < 0)
		return clv_file_error(err, -r, "cannot list the PCI devices");
	r = clv_amd_snapshot_read(&scene);
	if (r == 0)
		r = survey_all((struct clv_amd_backend *)base, &names, &scene, node);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot read AMD's GPUs");
	return 0;
}

/* Searches by UUID, because the PCI address may change with a reload of the driver. */
static bool find_by_uuid(struct clv_amd_backend *backend, const char *uuid,
	const struct clv_amd_snapshot *scene, struct clv_node_device *ret)
{
	_cleanup_names_ struct clv_names names = {0};

	if (clv_file_list(&names, "bus/pci/drivers/" DRIVER) < 0)
		return false;
	for (size_t i = 0; i < names.n; i++) {
		struct clv_pci pci;

		if (!is_amd_gpu(names.items[i], &pci))
			continue;
		clv_node_device_clear(ret);
		if (clv_amd_read_device(backend, &pci, scene, ret) == 0 &&
			strcmp(ret->info.uuid, uuid) == 0)
			return true;
	}
	return false;
}

static int amd_read(
	struct clv_backend *base, struct clv_node_device *device, struct clv_error *err)
{
	_cleanup_scene_ struct clv_amd_snapshot scene = {0};
	struct clv_node_device now = {0};
	int r = clv_amd_snapshot_read(&scene);

	clv_kfd_clear(&((struct clv_amd_backend *)base)->topology);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot read AMD's GPUs");
	if (!find_by_uuid(
		    (struct clv_amd_backend *)base, device->info.uuid, &scene, &now)) {
		clv_node_device_clear(&now);
		return clv_error_set(err, -ENODEV,
			"the GPU %s is gone: amdgpu has none with that id any more",
			device->info.uuid);
	}
	memcpy(now.info.name, device->info.name, sizeof(now.info.name));
	now.index = device->index;
	clv_node_device_clear(device);
	*device = now;
	return 0;
}

const struct clv_backend_ops clv_backend_amd = {
	.abi = CLV_BACKEND_ABI,
	.name = "amd",
	.probe = amd_probe,
	.free = amd_free,
	.survey = amd_survey,
	.read = amd_read,
	.sample = clv_amd_sample,
	.set_compute_mode = clv_amd_set_compute_mode,
	.set_memory_mode = clv_amd_set_memory_mode,
	.reload_driver = clv_amd_reload_driver,
};
