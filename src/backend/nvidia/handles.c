/* SPDX-License-Identifier: Apache-2.0 */
/* Caches the GPUs' handles, and looks them up again when one is stale. */
#include "backend/nvidia/handles.h"

#include "backend/nvidia/error.h"
#include "backend/nvidia/xids.h"
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

static void look_up(
	const struct clv_nvidia_library *nvml, uint32_t index, struct clv_nvidia_gpu *ret)
{
	ret->code = nvml->get_device(index, &ret->handle);
	if (ret->code == CLV_NVML_SUCCESS)
		ret->code = nvml->get_uuid(ret->handle, ret->uuid, sizeof(ret->uuid));
	if (ret->code == CLV_NVML_SUCCESS && ret->uuid[0] == '\0')
		ret->code = CLV_NVML_NO_DATA;
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

int clv_nvidia_handles_refresh(struct clv_nvidia_backend *backend, struct clv_error *err)
{
	const struct clv_nvidia_library *nvml = &backend->nvml;
	struct clv_nvidia_gpu *gpus;
	uint32_t n = UINT32_MAX;
	int r = clv_nvidia_handles_start(backend, err), code;

	if (r < 0)
		return r;
	code = nvml->get_count(&n);
	if (code == CLV_NVML_SUCCESS && n == UINT32_MAX)
		code = CLV_NVML_NO_DATA;
	if (code != CLV_NVML_SUCCESS)
		return clv_nvidia_error(nvml, code, err, "cannot count the NVIDIA GPUs");
	gpus = calloc(n ? n : 1, sizeof(*gpus));
	if (!gpus)
		return clv_error_errno(err, ENOMEM, "cannot list the NVIDIA GPUs");
	for (uint32_t i = 0; i < n; i++)
		look_up(nvml, i, &gpus[i]);
	clv_nvidia_xids_stop(backend);
	carry_sample_state(backend, gpus, n);
	free(backend->gpus);
	backend->gpus = gpus;
	backend->n_gpus = n;
	return 0;
}

int clv_nvidia_handles_restart(struct clv_nvidia_backend *backend, struct clv_error *err)
{
	clv_nvidia_xids_stop(backend);
	backend->nvml.shutdown();
	backend->is_started = false;
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
