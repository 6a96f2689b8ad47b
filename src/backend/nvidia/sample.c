/* SPDX-License-Identifier: Apache-2.0 */
/* Samples a GPU's load, processes and health.  Every call is optional: old drivers,
 * virtual GPUs and GPUs in MIG mode each lack some of them. */
#include "backend/nvidia/sample.h"

#include "backend/nvidia/error.h"
#include "backend/nvidia/handles.h"
#include "backend/nvidia/holders.h"
#include "backend/nvidia/utilization.h"
#include "backend/nvidia/xids.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

#define MILLI 1e-3
#define PERCENT 1e-2

/* Calls a function that may be absent; true on success. */
#define ASK(function, ...) \
	((function) && (function)(gpu, ##__VA_ARGS__) == CLV_NVML_SUCCESS)

static void read_figures(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_reading *ret)
{
	struct clv_nvml_utilization utilization;
	struct clv_nvml_memory memory;
	uint32_t value, period;
	uint64_t energy;

	if (ASK(nvml->get_power, &value))
		ret->power_watts = value * MILLI;
	if (ASK(nvml->get_temperature, CLV_NVML_TEMPERATURE_GPU, &value))
		ret->temperature_celsius = value;
	if (ASK(nvml->get_energy, &energy))
		ret->energy_joules = (double)energy * MILLI;
	if (ASK(nvml->get_utilization, &utilization))
		ret->utilization = utilization.gpu * PERCENT;
	if (ASK(nvml->get_encoder, &value, &period))
		ret->encoder = value * PERCENT;
	if (ASK(nvml->get_decoder, &value, &period))
		ret->decoder = value * PERCENT;
	if (ASK(nvml->get_memory, &memory))
		ret->memory_used_bytes = memory.used;
}

static void read_signs(const struct clv_nvidia_library *nvml, struct clv_nvml_device *gpu,
	struct clv_reading *ret)
{
	uint32_t corrected, uncorrected, is_pending = 0, has_failed = 0;
	uint64_t n_errors = 0;

	if (ASK(nvml->get_ecc_errors, CLV_NVML_ERROR_UNCORRECTED, CLV_NVML_ECC_VOLATILE,
		    &n_errors))
		ret->signs[CLV_SIGN_ECC] = n_errors;
	if (ASK(nvml->get_remapped_rows, &corrected, &uncorrected, &is_pending,
		    &has_failed)) {
		ret->signs[CLV_SIGN_ROWS_PENDING] = is_pending != 0;
		ret->signs[CLV_SIGN_ROWS_FAILED] = has_failed != 0;
	}
	/* GPUs before Ampere; NVML does not report the number of pages. */
	if (ASK(nvml->get_retirement_pending, &is_pending))
		ret->signs[CLV_SIGN_PAGES_PENDING] = is_pending != 0;
}

static void take_xids(struct clv_nvidia_gpu *gpu, struct clv_reading *ret)
{
	memcpy(ret->xids, gpu->xids, sizeof(ret->xids));
	ret->n_xids = gpu->n_xids;
	gpu->n_xids = 0;
}

static int find_by_uuid(const struct clv_nvidia_backend *backend, const char *uuid)
{
	for (uint32_t i = 0; i < backend->n_gpus; i++) {
		if (strcmp(backend->gpus[i].uuid, uuid) == 0)
			return (int)i;
	}
	return -ENODEV;
}

int clv_nvidia_sample(struct clv_backend *base, const struct clv_node_device *device,
	struct clv_reading *ret, struct clv_error *err)
{
	struct clv_nvidia_backend *backend = (struct clv_nvidia_backend *)base;
	int index = find_by_uuid(backend, device->info.uuid);

	clv_nvidia_xids_poll(backend);
	if (index >= 0)
		take_xids(&backend->gpus[index], ret);
	index = clv_nvidia_handles_find_kept(backend, device->info.uuid);
	if (index < 0)
		return clv_error_set(err, -ENODEV,
			"the driver does not reach %s: " CLV_NVIDIA_SEE_LOG,
			clv_nvidia_name(device));
	read_figures(&backend->nvml, backend->gpus[index].handle, ret);
	read_signs(&backend->nvml, backend->gpus[index].handle, ret);
	if (clv_nvidia_holders_sample(
		    &backend->nvml, backend->gpus[index].handle, device, ret) < 0)
		return clv_error_errno(err, ENOMEM, "cannot list the processes");
	clv_nvidia_utilization_sample(&backend->nvml, &backend->gpus[index], ret);
	return 0;
}
