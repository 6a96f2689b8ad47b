/* SPDX-License-Identifier: Apache-2.0 */
/* The models that a node's file may name: those whose figures are in core's table, and
 * the CPU. */
#include "backend/sim/sim.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/suggest.h"
#include "core/gpu/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#define MODELS_MAX 64

/* Of a GPU with MIG whose number of multiprocessors no public source has. */
#define ASSUMED_PER_SLICE 18u

/* The compute units of a CPU are its processors, which the entry gives. */
static const struct clv_sim_product cpu = {
	.name = "CPU",
	.model = "CPU",
	.vendor = CLV_SIM_CPU,
	.memory_bytes = UINT64_C(64) << 30,
};

static const struct {
	const char *name;
	const char *driver;
} vendors[] = {
	[CLV_SIM_NVIDIA] = {"NVIDIA", "nvidia"},
	[CLV_SIM_AMD] = {"AMD", "amdgpu"},
	[CLV_SIM_INTEL] = {"Intel", "xe"},
	[CLV_SIM_CPU] = {"CPU", ""},
};

static const enum clv_sim_vendor gpu_vendors[_CLV_GPU_VENDOR_MAX] = {
	[CLV_GPU_NVIDIA] = CLV_SIM_NVIDIA,
	[CLV_GPU_AMD] = CLV_SIM_AMD,
	[CLV_GPU_INTEL] = CLV_SIM_INTEL,
};

static uint32_t compute_units_of(const struct clv_gpu *gpu)
{
	uint32_t known = clv_gpu_compute_units(gpu);

	return known || !gpu->mig ? known : gpu->mig->slices * ASSUMED_PER_SLICE;
}

/* The model with this index; NULL behind the last one. */
static const struct clv_gpu *model_at(size_t at)
{
	const struct clv_gpu *gpu;

	for (size_t i = 0; (gpu = clv_gpu_at(i)); i++) {
		if (gpu->product && compute_units_of(gpu) > 0 && at-- == 0)
			return gpu;
	}
	return NULL;
}

/* The driver resets a GPU of the Ampere generation to change the MIG mode, which is
 * persistent; later generations need no reset and lose the mode at a reboot. */
static struct clv_sim_product product_of(const struct clv_gpu *gpu)
{
	bool needs_reset = gpu->mig && gpu->is_ga100;

	return (struct clv_sim_product){
		.name = gpu->name,
		.model = gpu->product,
		.vendor = gpu_vendors[gpu->vendor],
		.mig = gpu->mig,
		.xcp = gpu->xcp,
		.memory_bytes = clv_gpu_memory_bytes(gpu),
		.compute_units = compute_units_of(gpu),
		.reset = needs_reset ? CLV_SIM_RESET_ALLOWED : CLV_SIM_RESET_NONE,
		.is_mig_lost_at_reboot = gpu->mig && !needs_reset,
		.vf_total = gpu->vf_total,
		.vf_framework = gpu->vf_framework,
	};
}

static int fail_with_model(struct clv_yaml_value value, struct clv_error *err)
{
	const char *word = clv_yaml_text(value), *nearest;
	const char *names[MODELS_MAX];
	char known[320] = "";
	size_t used = 0, n = 0;

	for (const struct clv_gpu *gpu; n < MODELS_MAX - 1 && (gpu = model_at(n)); n++)
		names[n] = gpu->name;
	names[n++] = cpu.name;
	for (size_t i = 0; i < n && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
			i ? ", " : "", names[i]);
	nearest = clv_suggest(word, names, n);
	if (nearest)
		return clv_yaml_fail(value, err, -EINVAL,
			"unknown model '%.40s': did you mean '%s'?", word, nearest);
	return clv_yaml_fail(
		value, err, -EINVAL, "unknown model '%.40s': there are %s", word, known);
}

int clv_sim_product_read(
	struct clv_yaml_value value, struct clv_sim_product *ret, struct clv_error *err)
{
	const char *word = clv_yaml_text(value);
	const struct clv_gpu *gpu;

	if (strcasecmp(cpu.name, word) == 0) {
		*ret = cpu;
		return 0;
	}
	for (size_t i = 0; (gpu = model_at(i)); i++) {
		if (strcasecmp(gpu->name, word) == 0) {
			*ret = product_of(gpu);
			return 0;
		}
	}
	return fail_with_model(value, err);
}

const char *clv_sim_vendor_to_string(enum clv_sim_vendor vendor)
{
	return vendors[vendor].name;
}

const char *clv_sim_vf_driver(const struct clv_sim_device *device)
{
	if (device->vf_framework == CLV_VF_I915)
		return "i915";
	return vendors[device->product.vendor].driver;
}
