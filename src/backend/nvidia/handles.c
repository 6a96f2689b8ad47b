/* SPDX-License-Identifier: Apache-2.0 */
/* Caches the GPUs' handles, and looks them up again when one is stale. */
#include "backend/nvidia/handles.h"

#include "backend/files.h"
#include "backend/nvidia/error.h"
#include "backend/nvidia/xids.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *clv_nvidia_name(const struct clv_node_device *device)
{
	return device->info.name[0] != '\0' ? device->info.name : device->info.uuid;
}

static void read_uuid(const struct clv_nvidia_library *nvml, struct clv_nvidia_gpu *gpu)
{
	if (gpu->code == CLV_NVML_SUCCESS)
		gpu->code = nvml->get_uuid(gpu->handle, gpu->uuid, sizeof(gpu->uuid));
	if (gpu->code == CLV_NVML_SUCCESS && gpu->uuid[0] == '\0')
		gpu->code = CLV_NVML_NO_DATA;
}

/* The driver reports 12020 for CUDA 12.2. */
static void read_cuda_version(struct clv_nvidia_backend *backend)
{
	const struct clv_nvidia_library *nvml = &backend->nvml;
	int version = 0;

	backend->cuda[0] = '\0';
	if (nvml->get_cuda_version &&
		nvml->get_cuda_version(&version) == CLV_NVML_SUCCESS && version > 0)
		snprintf(backend->cuda, sizeof(backend->cuda), "%d.%d", version / 1000,
			version % 1000 / 10);
}

int clv_nvidia_handles_start(struct clv_nvidia_backend *backend, struct clv_error *err)
{
	const struct clv_nvidia_library *nvml = &backend->nvml;
	int code;

	if (backend->is_started)
		return 0;
	code = nvml->init();
	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(nvml, code, err, "cannot use NVIDIA's driver");
	backend->is_started = true;
	/* The versions are only displayed, so a failure is not fatal. */
	if (nvml->get_driver_version(backend->driver, sizeof(backend->driver)) !=
		CLV_NVML_SUCCESS)
		backend->driver[0] = '\0';
	read_cuda_version(backend);
	return 0;
}

/* Keeps what samples need across a lookup: unreported Xids and the time of the newest
 * utilization sample. */
static void carry_sample_state(
	const struct clv_nvidia_backend *backend, struct clv_nvidia_gpu *gpus, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < backend->n_gpus; j++) {
			const struct clv_nvidia_gpu *before = &backend->gpus[j];

			if (strcmp(gpus[i].uuid, before->uuid) != 0)
				continue;
			memcpy(gpus[i].xids, before->xids, sizeof(gpus[i].xids));
			gpus[i].n_xids = before->n_xids;
			gpus[i].utilization_us = before->utilization_us;
		}
	}
}

/* The GPUs as they were looked up. */
struct lookup {
	struct clv_nvidia_gpu *gpus; /* owned */
	uint32_t n;
};

static int look_up_all(
	const struct clv_nvidia_library *nvml, struct lookup *ret, struct clv_error *err)
{
	uint32_t n = UINT32_MAX;
	int code = nvml->get_count(&n);

	if (code == CLV_NVML_SUCCESS && n == UINT32_MAX)
		code = CLV_NVML_NO_DATA;
	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(nvml, code, err, "cannot count the NVIDIA GPUs");
	ret->gpus = calloc(n ? n : 1, sizeof(*ret->gpus));
	if (!ret->gpus)
		return clv_error_errno(err, ENOMEM, "cannot list the NVIDIA GPUs");
	for (; ret->n < n; ret->n++) {
		struct clv_nvidia_gpu *gpu = &ret->gpus[ret->n];

		gpu->code = nvml->get_device(ret->n, &gpu->handle);
		read_uuid(nvml, gpu);
	}
	return 0;
}

static int list_others(const struct clv_nvidia_backend *backend, struct clv_names *ret,
	struct clv_error *err)
{
	int r = clv_file_list(ret, "bus/pci/drivers/nvidia");

	if (r < 0 || !backend->nvml.get_device_at)
		return clv_error_errno(err, r < 0 ? -r : ENOSYS,
			"cannot list the NVIDIA GPUs without those that are closed");
	return 0;
}

int clv_nvidia_handles_check_others(
	const struct clv_nvidia_backend *backend, struct clv_error *err)
{
	_cleanup_names_ struct clv_names names = {0};

	if (backend->closed.n == 0 || list_others(backend, &names, err) >= 0)
		return 0;
	return -ENOTSUP;
}

/* NVML finds the GPU of an index by opening it, so while one is to stay closed the others
 * are looked up by their addresses.  A function that NVML does not find is a virtual
 * one. */
static int look_up_others(const struct clv_nvidia_backend *backend, struct lookup *ret,
	struct clv_error *err)
{
	const struct clv_nvidia_library *nvml = &backend->nvml;
	_cleanup_names_ struct clv_names names = {0};
	int r = list_others(backend, &names, err);

	if (r < 0)
		return r;
	ret->gpus = calloc(names.n + 1, sizeof(*ret->gpus));
	if (!ret->gpus)
		return clv_error_errno(err, ENOMEM, "cannot list the NVIDIA GPUs");
	for (size_t i = 0; i < names.n; i++) {
		struct clv_nvidia_gpu *gpu = &ret->gpus[ret->n];

		if (!clv_is_pci_address(names.items[i]) ||
			clv_closed_has(&backend->closed, names.items[i]))
			continue;
		gpu->code = nvml->get_device_at(names.items[i], &gpu->handle);
		read_uuid(nvml, gpu);
		ret->n += gpu->code != CLV_NVML_NOT_FOUND;
	}
	return 0;
}

int clv_nvidia_handles_refresh(struct clv_nvidia_backend *backend, struct clv_error *err)
{
	struct lookup found = {0};
	int r = clv_nvidia_handles_start(backend, err);

	if (r < 0)
		return r;
	r = backend->closed.n > 0 ? look_up_others(backend, &found, err)
				  : look_up_all(&backend->nvml, &found, err);
	if (r < 0)
		return r;
	clv_nvidia_xids_stop(backend);
	carry_sample_state(backend, found.gpus, found.n);
	free(backend->gpus);
	backend->gpus = found.gpus;
	backend->n_gpus = found.n;
	return 0;
}

void clv_nvidia_handles_stop(struct clv_nvidia_backend *backend)
{
	clv_nvidia_xids_stop(backend);
	if (backend->is_started)
		backend->nvml.shutdown();
	backend->is_started = false;
	for (uint32_t i = 0; i < backend->n_gpus; i++)
		backend->gpus[i].code = CLV_NVML_UNINITIALIZED;
}

int clv_nvidia_handles_restart(struct clv_nvidia_backend *backend, struct clv_error *err)
{
	clv_nvidia_handles_stop(backend);
	return clv_nvidia_handles_refresh(backend, err);
}

static int find_kept(const struct clv_nvidia_backend *backend, const char *uuid)
{
	for (uint32_t i = 0; i < backend->n_gpus; i++) {
		if (backend->gpus[i].code == CLV_NVML_SUCCESS &&
			strcmp(backend->gpus[i].uuid, uuid) == 0)
			return (int)i;
	}
	return -ENODEV;
}

static bool is_same_gpu(const struct clv_nvidia_backend *backend, int index)
{
	const struct clv_nvidia_gpu *gpu = &backend->gpus[index];
	char uuid[CLV_NVML_UUID_BYTES] = "";

	assert(index >= 0 && (uint32_t)index < backend->n_gpus);
	return backend->nvml.get_uuid(gpu->handle, uuid, sizeof(uuid)) ==
		       CLV_NVML_SUCCESS &&
	       strcmp(uuid, gpu->uuid) == 0;
}

/* Reports the first GPU whose lookup failed, most likely the one that is searched. */
static int fail_not_found(
	const struct clv_nvidia_backend *backend, const char *uuid, struct clv_error *err)
{
	for (uint32_t i = 0; i < backend->n_gpus; i++) {
		if (backend->gpus[i].code == CLV_NVML_SUCCESS)
			continue;
		clv_nvidia_error(&backend->nvml, backend->gpus[i].code, err,
			"the driver no longer shows %s, and its GPU %u fails", uuid, i);
		if (err)
			err->code = -ENODEV;
		return -ENODEV;
	}
	return clv_error_set(err, -ENODEV,
		"the driver no longer shows %s: if it was not "
		"removed, " CLV_NVIDIA_SEE_LOG,
		uuid);
}

int clv_nvidia_handles_find_kept(
	const struct clv_nvidia_backend *backend, const char *uuid)
{
	int index = find_kept(backend, uuid);

	return index >= 0 && is_same_gpu(backend, index) ? index : -ENODEV;
}

int clv_nvidia_handles_find(
	struct clv_nvidia_backend *backend, const char *uuid, struct clv_error *err)
{
	int index = clv_nvidia_handles_find_kept(backend, uuid);
	int r;

	if (index >= 0)
		return index;
	r = clv_nvidia_handles_refresh(backend, err);
	if (r < 0)
		return r;
	index = find_kept(backend, uuid);
	return index >= 0 ? index : fail_not_found(backend, uuid, err);
}
