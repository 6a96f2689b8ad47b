/* SPDX-License-Identifier: Apache-2.0 */
/* Limits a cgroup's memory on a GPU.  The driver enforces the limit, since R615. */
#include "backend/nvidia/change.h"

#include "backend/nvidia/error.h"
#include "backend/nvidia/handles.h"
#include "base/error.h"

#include <errno.h>

static int set(const struct clv_nvidia_library *nvml, struct clv_nvml_device *gpu,
	const char *cgroup, uint64_t bytes)
{
	struct clv_nvml_limits limits = {.cgroup = cgroup, .hard = bytes};
	struct clv_nvml_limits seen = {.cgroup = cgroup};
	struct clv_nvml_memory memory = {0};
	int code = CLV_NVML_SUCCESS;

	/* NVML has no "unlimited": the limit is the whole memory. */
	if (bytes == UINT64_MAX) {
		code = nvml->get_memory(gpu, &memory);
		limits.hard = memory.total;
	}
	if (code == CLV_NVML_SUCCESS)
		code = nvml->set_limits(gpu, &limits);
	if (code == CLV_NVML_SUCCESS)
		code = nvml->get_limits(gpu, &seen);
	if (code == CLV_NVML_SUCCESS && seen.hard != limits.hard)
		code = CLV_NVML_UNKNOWN;
	return code;
}

int clv_nvidia_limit_memory(struct clv_backend *base,
	const struct clv_node_device *device, const char *cgroup, uint64_t bytes,
	struct clv_error *err)
{
	struct clv_nvidia_backend *backend = (struct clv_nvidia_backend *)base;
	const struct clv_nvidia_library *nvml = &backend->nvml;
	int index, code;

	if (!nvml->set_limits || !nvml->get_limits)
		return clv_error_set(err, -ENOTSUP,
			"the driver of %s cannot limit a cgroup's memory: install R615 "
			"or newer",
			clv_nvidia_name(device));
	index = clv_nvidia_handles_find(backend, device->info.uuid, err);
	if (index < 0)
		return index;
	code = set(nvml, backend->gpus[index].handle, cgroup, bytes);
	if (code == CLV_NVML_SUCCESS)
		return 0;
	return clv_nvidia_error(nvml, code, err, "cannot limit the memory of %s on %s",
		cgroup, clv_nvidia_name(device));
}
