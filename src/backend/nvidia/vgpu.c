/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the vGPU types of a GPU from NVML. */
#include "backend/nvidia/vgpu.h"

#include "backend/files.h"
#include "backend/vgpu-types.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "core/device/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A bound on the number of types; drivers offer a few dozen. */
#define TYPES_MAX 1024u

static int append_type(const struct clv_nvidia_library *nvml, struct clv_nvml_device *gpu,
	uint32_t id, struct clv_vf_state *vf)
{
	char name[CLV_NVML_VGPU_NAME_BYTES] = "";
	uint32_t name_bytes = sizeof(name), max_instances = 0;
	uint64_t memory_bytes = 0;
	struct clv_vgpu_type *type;

	if (nvml->get_vgpu_name(id, name, &name_bytes) != CLV_NVML_SUCCESS)
		return 0;
	if (!nvml->get_vgpu_memory ||
		nvml->get_vgpu_memory(id, &memory_bytes) != CLV_NVML_SUCCESS)
		memory_bytes = 0;
	if (!nvml->get_vgpu_max ||
		nvml->get_vgpu_max(gpu, id, &max_instances) != CLV_NVML_SUCCESS)
		max_instances = 0;

	type = CLV_APPEND(vf->types, vf->n_types);
	if (!type)
		return -ENOMEM;
	snprintf(type->id, sizeof(type->id), "%u", id);
	snprintf(type->name, sizeof(type->name), "%s", name);
	type->memory_bytes = memory_bytes;
	type->max_instances = max_instances;
	return 0;
}

/* If sysfs shows the functions that become vGPUs, the sriov backend reports them with
 * their types: the types of NVML are stored for it and removed here. */
static int store_for_sriov(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_vf_state *vf)
{
	unsigned domain, bus, slot, function;
	struct clv_nvml_pci pci = {.bus_id = ""};
	char address[16];
	int r;

	if (nvml->get_pci(gpu, &pci) != CLV_NVML_SUCCESS)
		return 0;
	pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
	if (sscanf(pci.bus_id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		return 0;
	snprintf(address, sizeof(address), "%04x:%02x:%02x.%x", domain & 0xffffu,
		bus & 0xffu, slot & 0x1fu, function & 7u);
	if (!clv_file_exists("bus/pci/devices/%s/sriov_totalvfs", address))
		return 0;
	r = clv_vgpu_types_store(address, vf->types, vf->n_types);
	free(vf->types);
	vf->types = NULL;
	vf->n_types = 0;
	return r;
}

int clv_nvidia_vgpu_types_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_vf_state *vf, struct clv_error *err)
{
	_cleanup_free_ uint32_t *ids = NULL;
	uint32_t n = 0;

	if (!nvml->list_vgpu_types || !nvml->get_vgpu_name ||
		nvml->list_vgpu_types(gpu, &n, NULL) != CLV_NVML_INSUFFICIENT_SIZE ||
		n == 0 || n > TYPES_MAX)
		return 0;
	ids = calloc(n, sizeof(*ids));
	if (!ids)
		return clv_error_errno(err, ENOMEM, "cannot list the vGPU types");
	if (nvml->list_vgpu_types(gpu, &n, ids) != CLV_NVML_SUCCESS)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		if (append_type(nvml, gpu, ids[i], vf) < 0)
			return clv_error_errno(err, ENOMEM, "cannot list the vGPU types");
	}
	if (store_for_sriov(nvml, gpu, vf) < 0)
		return clv_error_errno(err, ENOMEM, "cannot list the vGPU types");
	return 0;
}
