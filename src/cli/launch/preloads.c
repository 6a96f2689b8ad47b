/* SPDX-License-Identifier: Apache-2.0 */
/* The gates that are preloaded, and the choice of one for the devices of a lease. */
#include "cli/launch/preloads.h"

#include "base/paths.h"
#include "cli/frame/cli.h"

#include <string.h>

const struct clv_preload clv_preloads[CLV_N_PRELOADS] = {
	[CLV_PRELOAD_CUDA] =
		{
			.api = "CUDA",
			.backend = "nvidia",
			.gate = CLV_GATE_CUDA,
			.package = "cleave-gate-cuda",
			.probe = "cuInit",
			.libraries = {CLV_DRIVER_CUDA, CLV_DRIVER_NVML},
		},
	[CLV_PRELOAD_HIP] =
		{
			.api = "HIP",
			.backend = "amd",
			.gate = CLV_GATE_HIP,
			.package = "cleave-gate-hip",
			.probe = "hsa_init",
			.libraries = {CLV_DRIVER_HSA, CLV_DRIVER_HIP_5, CLV_DRIVER_HIP_6,
				CLV_DRIVER_HIP_7},
			.needed = CLV_DRIVER_HSA,
		},
};

static bool has_device(const json_t *devices, const char *backend)
{
	const json_t *device;
	size_t i;

	json_array_foreach (devices, i, device) {
		if (strcmp(clv_json_text(device, "backend"), backend) == 0)
			return true;
	}
	return false;
}

const struct clv_preload *clv_preload_of(const json_t *devices)
{
	for (size_t i = 0; i < CLV_N_PRELOADS; i++) {
		if (has_device(devices, clv_preloads[i].backend))
			return &clv_preloads[i];
	}
	return NULL;
}
