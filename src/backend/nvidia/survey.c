/* SPDX-License-Identifier: Apache-2.0 */
/* Reads each GPU and its partitions.  A GPU whose handle or UUID cannot be read is
 * reported as a problem of the node.  Any other GPU is shown with all that can be read,
 * and with the reason if it cannot be divided. */
#include "backend/nvidia/survey.h"

#include "backend/nvidia/error.h"
#include "backend/nvidia/gpu-types.h"
#include "backend/nvidia/handles.h"
#include "backend/nvidia/holders.h"
#include "backend/nvidia/model.h"
#include "backend/nvidia/partitions.h"
#include "backend/nvidia/vgpu.h"
#include "backend/pci.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MIB UINT64_C(1048576)
/* The initialisation of NVML takes up to seconds without a persistence daemon. */
#define VAIN_RESTARTS_MAX 3u

/* Converts "00000000:3B:00.0" to the form of Linux, "0000:3b:00.0". */
static void read_address(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_node_device *device)
{
	struct clv_nvml_pci pci = {.bus_id = ""};
	unsigned int domain, bus, slot, function;

	if (nvml->get_pci(gpu, &pci) != CLV_NVML_SUCCESS)
		return;
	pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
	if (sscanf(pci.bus_id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4)
		snprintf(device->pci_address, sizeof(device->pci_address),
			"%04x:%02x:%02x.%x", domain, bus, slot, function);
}

static void read_numa_node(struct clv_node_device *device)
{
	char path[512];
	FILE *file;

	device->numa_node = -1;
	if (device->pci_address[0] == '\0')
		return;
	snprintf(path, sizeof(path), "%.400s/bus/pci/devices/%s/numa_node",
		clv_backend_sysfs(), device->pci_address);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fscanf(file, "%d", &device->numa_node) != 1)
		device->numa_node = -1;
	fclose(file);
}

static uint32_t read_architecture(
	const struct clv_nvidia_library *nvml, struct clv_nvml_device *gpu)
{
	uint32_t architecture = 0;

	if (!nvml->get_architecture ||
		nvml->get_architecture(gpu, &architecture) != CLV_NVML_SUCCESS)
		return 0;
	return architecture;
}

static void read_generation(const struct clv_nvidia_backend *backend,
	struct clv_nvml_device *gpu, struct clv_device *info)
{
	const struct clv_nvidia_library *nvml = &backend->nvml;
	struct clv_generation *generation = &info->generation;
	int major = 0, minor = 0;

	snprintf(generation->cuda, sizeof(generation->cuda), "%s", backend->cuda);
	snprintf(generation->architecture, sizeof(generation->architecture), "%s",
		clv_nvidia_type_architecture(info->model, read_architecture(nvml, gpu)));
	if (nvml->get_capability &&
		nvml->get_capability(gpu, &major, &minor) == CLV_NVML_SUCCESS &&
		major > 0 && major < 100 && minor >= 0 && minor < 100)
		snprintf(generation->capability, sizeof(generation->capability), "%d.%d",
			major, minor);
}

static void read_identity(const struct clv_nvidia_backend *backend, uint32_t index,
	struct clv_node_device *device)
{
	const struct clv_nvidia_library *nvml = &backend->nvml;
	struct clv_nvidia_gpu *gpu = &backend->gpus[index];
	struct clv_device *info = &device->info;
	struct clv_nvml_memory memory = {0};

	device->index = index;
	info->backend = "nvidia";
	info->executor = "gate";
	snprintf(info->type, sizeof(info->type), "gpu");
	snprintf(info->vendor, sizeof(info->vendor), "nvidia");
	snprintf(info->driver, sizeof(info->driver), "%s", backend->driver);
	snprintf(info->uuid, sizeof(info->uuid), "%.63s", gpu->uuid);
	if (nvml->get_name(gpu->handle, info->model, sizeof(info->model)) !=
		CLV_NVML_SUCCESS)
		snprintf(info->model, sizeof(info->model), "NVIDIA GPU");
	if (nvml->get_memory(gpu->handle, &memory) == CLV_NVML_SUCCESS)
		info->memory_bytes = memory.total;
	read_generation(backend, gpu->handle, info);
	read_address(nvml, gpu->handle, device);
	read_numa_node(device);
	clv_pci_root(device->pci_address, device->pcie_root);
}

/* The largest profile has all that a GPU in MIG mode can give. */
static struct clv_mig_profile find_largest(const struct clv_node_device *device)
{
	const struct clv_mig_profile *largest =
		clv_mig_profile_largest(device->mig.model);

	return largest ? *largest : (struct clv_mig_profile){0};
}

/* A driver does not report the cores of a GPU in MIG mode; then the largest profile has
 * the number. */
static uint32_t count_multiprocessors(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, const struct clv_node_device *device)
{
	uint32_t per_multiprocessor =
		clv_nvidia_type_cores(device->info.model, read_architecture(nvml, gpu));
	uint32_t cores = 0;

	if (nvml->get_core_count && per_multiprocessor > 0 &&
		nvml->get_core_count(gpu, &cores) == CLV_NVML_SUCCESS)
		return cores / per_multiprocessor;
	return find_largest(device).multiprocessors;
}

/* -ENOTSUP: the GPU or its driver does not support MIG. */
static int read_mig_mode(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_node_device *device,
	struct clv_error *err)
{
	struct clv_mig_state *mig = &device->mig;
	uint32_t current = UINT32_MAX, pending = UINT32_MAX;
	int r = clv_nvidia_library_require(nvml, CLV_NVIDIA_MIG, err);
	int code;

	if (r < 0)
		return r;
	code = nvml->get_mig_mode(gpu, &current, &pending);
	if (code == CLV_NVML_NOT_SUPPORTED) {
		mig->is_absent = true;
		return clv_error_set(err, -ENOTSUP, "this GPU has no MIG: use shares");
	}
	if (code == CLV_NVML_SUCCESS && (current > 1 || pending > 1))
		code = CLV_NVML_NO_DATA;
	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(nvml, code, err, "cannot read the MIG mode");

	mig->is_capable = true;
	mig->is_on = current != 0;
	mig->is_pending = current != pending;
	mig->needs_reset = clv_nvidia_type_is_ampere(
		device->info.model, read_architecture(nvml, gpu));
	mig->is_lost_at_reboot = !mig->needs_reset;
	return 0;
}

static int read_mig(const struct clv_nvidia_library *nvml, struct clv_nvml_device *gpu,
	struct clv_node_device *device, struct clv_error *err)
{
	int r = read_mig_mode(nvml, gpu, device, err);

	if (r == 0)
		r = clv_nvidia_model_read(nvml, gpu, device, &device->mig.own_model, err);
	if (r < 0)
		return r;
	device->mig.model = device->mig.own_model;
	if (device->mig.is_on) {
		device->scheme = CLV_SCHEME_MIG;
		r = clv_nvidia_partitions_read(nvml, gpu, device, err);
	}
	if (r == 0)
		r = clv_nvidia_library_require(nvml, CLV_NVIDIA_MIG_MODE, err);
	if (r == 0)
		r = clv_nvidia_library_require(nvml, CLV_NVIDIA_INSTANCES, err);
	return r;
}

/* Reads everything about a GPU that has a handle, except for names.  -ENOMEM */
static int read_once(const struct clv_nvidia_backend *backend, uint32_t index,
	struct clv_node_device *device, struct clv_error *err)
{
	const struct clv_nvidia_library *nvml = &backend->nvml;
	struct clv_nvml_device *gpu = backend->gpus[index].handle;
	struct clv_error why = {0};
	int r;

	read_identity(backend, index, device);
	r = read_mig(nvml, gpu, device, &why);
	if (r == -ENOMEM)
		return clv_error_set(err, r, "%s", why.msg);
	/* A plan from an incomplete reading could destroy what was not read. */
	if (r < 0) {
		device->mig.is_capable = false;
		snprintf(device->cannot_divide, sizeof(device->cannot_divide), "%s",
			why.msg);
	}
	device->info.compute_units = count_multiprocessors(nvml, gpu, device);
	if (device->info.memory_bytes == 0)
		device->info.memory_bytes = find_largest(device).memory_mib * MIB;
	r = clv_nvidia_vgpu_types_read(nvml, gpu, &device->vf, err);
	if (r < 0)
		return r;
	return clv_nvidia_holders_read(nvml, gpu, device, err);
}

/* An instance without a UUID was most likely created after this process initialised NVML,
 * and the driver does not show its MIG device to this process. */
static bool is_out_of_date(
	const struct clv_nvidia_backend *backend, const struct clv_node_device *device)
{
	return backend->n_vain_restarts < VAIN_RESTARTS_MAX &&
	       backend->nvml.get_mig_device &&
	       !clv_nvidia_partitions_are_identified(device);
}

static int read_gpu(struct clv_nvidia_backend *backend, uint32_t index,
	struct clv_node_device *device, struct clv_error *err)
{
	int r = read_once(backend, index, device, err);

	if (r < 0 || !is_out_of_date(backend, device))
		return r;
	r = clv_nvidia_handles_restart(backend, err);
	if (r < 0)
		return r;
	if (index >= backend->n_gpus || backend->gpus[index].code != CLV_NVML_SUCCESS)
		return 0;
	clv_node_device_clear(device);
	r = read_once(backend, index, device, err);
	backend->n_vain_restarts += r == 0 && is_out_of_date(backend, device);
	return r;
}

static int survey_one(struct clv_nvidia_backend *backend, uint32_t index,
	struct clv_node *node, struct clv_error *err)
{
	int code = backend->gpus[index].code;
	struct clv_node_device *device;
	struct clv_error why = {0};

	if (code == CLV_NVML_SUCCESS) {
		device = clv_node_add(node);
		if (device)
			return read_gpu(backend, index, device, err);
	} else {
		clv_nvidia_error(
			&backend->nvml, code, &why, "NVIDIA GPU %u is not shown", index);
		if (clv_node_add_problem(node, why.msg) == 0)
			return 0;
	}
	return clv_error_errno(err, ENOMEM, "cannot list the NVIDIA GPUs");
}

int clv_nvidia_survey(
	struct clv_backend *base, struct clv_node *node, struct clv_error *err)
{
	struct clv_nvidia_backend *backend = (struct clv_nvidia_backend *)base;
	int r = clv_nvidia_handles_refresh(backend, err);

	for (uint32_t i = 0; r == 0 && i < backend->n_gpus; i++)
		r = survey_one(backend, i, node, err);
	return r;
}

int clv_nvidia_read(
	struct clv_backend *base, struct clv_node_device *device, struct clv_error *err)
{
	struct clv_nvidia_backend *backend = (struct clv_nvidia_backend *)base;
	int index = clv_nvidia_handles_find(backend, device->info.uuid, err);
	struct clv_node_device fresh = {.numa_node = -1};
	int r;

	if (index < 0)
		return index;
	r = read_gpu(backend, (uint32_t)index, &fresh, err);
	if (r < 0) {
		clv_node_device_clear(&fresh);
		return r;
	}
	memcpy(fresh.info.name, device->info.name, sizeof(fresh.info.name));
	clv_node_device_clear(device);
	*device = fresh;
	clv_node_name_partitions(device);
	return 0;
}
