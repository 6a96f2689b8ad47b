/* SPDX-License-Identifier: Apache-2.0 */
/* Lookup in the tables of GPU models. */
#include "core/gpu/gpu.h"

#include "core/gpu/gpu-internal.h"

#include <string.h>

static const struct {
	const struct clv_gpu *gpus;
	const size_t *n;
} lists[] = {
	{clv_gpus_nvidia, &clv_n_gpus_nvidia},
	{clv_gpus_amd, &clv_n_gpus_amd},
	{clv_gpus_intel, &clv_n_gpus_intel},
};

static const char *const vendors[_CLV_GPU_VENDOR_MAX] = {
	[CLV_GPU_NVIDIA] = "nvidia",
	[CLV_GPU_AMD] = "amd",
	[CLV_GPU_INTEL] = "intel",
};

const struct clv_gpu *clv_gpu_at(size_t at)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (at < *lists[i].n)
			return &lists[i].gpus[at];
		at -= *lists[i].n;
	}
	return NULL;
}

const struct clv_gpu *clv_gpu_find(const char *name)
{
	const struct clv_gpu *gpu;

	for (size_t i = 0; (gpu = clv_gpu_at(i)); i++) {
		if (strcmp(gpu->name, name) == 0)
			return gpu;
	}
	return NULL;
}

static bool has_id(const uint16_t ids[CLV_GPU_PCI_MAX], uint32_t device)
{
	for (size_t i = 0; i < CLV_GPU_PCI_MAX && ids[i]; i++) {
		if (ids[i] == device)
			return true;
	}
	return false;
}

const struct clv_gpu *clv_gpu_find_pci(
	enum clv_gpu_vendor vendor, uint32_t device, bool *ret_is_virtual)
{
	const struct clv_gpu *gpu;
	bool is_virtual = false;

	for (size_t i = 0; (gpu = clv_gpu_at(i)); i++) {
		is_virtual = gpu->vendor == vendor && has_id(gpu->virtual_pci, device);
		if (is_virtual || (gpu->vendor == vendor && has_id(gpu->pci, device)))
			break;
	}
	if (ret_is_virtual)
		*ret_is_virtual = is_virtual;
	return gpu;
}

const char *clv_gpu_vendor_to_string(enum clv_gpu_vendor vendor)
{
	return vendors[vendor];
}

const char *clv_gpu_label(const struct clv_gpu *gpu)
{
	return gpu->label ? gpu->label : gpu->name;
}

const char *clv_gpu_selector(const struct clv_gpu *gpu)
{
	return gpu->selector ? gpu->selector : gpu->name;
}

uint64_t clv_gpu_memory_bytes(const struct clv_gpu *gpu)
{
	if (gpu->memory_mib)
		return (uint64_t)gpu->memory_mib << 20;
	if (gpu->mig)
		return (uint64_t)clv_mig_profile_largest(gpu->mig)->memory_mib << 20;
	/* A GPU that is sold with 192 GB has 192 GiB according to its driver. */
	return gpu->xcp ? gpu->xcp->memory_gb << 30 : 0;
}

uint32_t clv_gpu_compute_units(const struct clv_gpu *gpu)
{
	if (gpu->compute_units)
		return gpu->compute_units;
	if (gpu->mig)
		return clv_mig_profile_largest(gpu->mig)->multiprocessors;
	return gpu->xcp ? gpu->xcp->compute_units : 0;
}

const struct clv_mig_model *clv_mig_model_at(size_t at)
{
	const struct clv_gpu *gpu;

	for (size_t i = 0; (gpu = clv_gpu_at(i)); i++) {
		if (gpu->mig && at-- == 0)
			return gpu->mig;
	}
	return NULL;
}

const struct clv_xcp_model *clv_xcp_model_at(size_t at)
{
	const struct clv_gpu *gpu;

	for (size_t i = 0; (gpu = clv_gpu_at(i)); i++) {
		if (gpu->xcp && at-- == 0)
			return gpu->xcp;
	}
	return NULL;
}

const struct clv_mig_model *clv_mig_model_find(const char *name)
{
	const struct clv_gpu *gpu = clv_gpu_find(name);

	return gpu ? gpu->mig : NULL;
}

const char *clv_mig_unchecked(const char *name)
{
	return clv_mig_model_find(name)
		       ? NULL
		       : "cleave has no table of this model: its MIG profiles and their "
			 "places are what its driver reports, and nothing checks them";
}

const struct clv_xcp_model *clv_xcp_model_find(const char *name)
{
	const struct clv_gpu *gpu = clv_gpu_find(name);

	return gpu ? gpu->xcp : NULL;
}

static bool is_number(const char *text)
{
	return text[0] >= '1' && text[0] <= '9' &&
	       text[strspn(text, "0123456789")] == '\0';
}

static bool is_modes(const char *name)
{
	const char *slash = strchr(name, '/');
	char compute[8];

	if (!slash || (size_t)(slash - name) >= sizeof(compute))
		return false;
	memcpy(compute, name, (size_t)(slash - name));
	compute[slash - name] = '\0';
	return (int)clv_compute_mode_from_string(compute) >= 0 &&
	       clv_memory_mode_from_string(slash + 1) > 0;
}

/* The position after the digits and the unit; NULL: the name does not continue so. */
static const char *skip_amount(const char *name, const char *unit)
{
	size_t n = strspn(name, "0123456789");

	return n > 0 && strncmp(name + n, unit, strlen(unit)) == 0
		       ? name + n + strlen(unit)
		       : NULL;
}

/* By the form of the name: the driver of a GPU that no table has names its own. */
static bool is_mig(const char *name)
{
	const char *part = skip_amount(name, "c."), *rest;

	rest = skip_amount(part ? part : name, "g.");
	rest = rest ? skip_amount(rest, "gb") : NULL;
	while (rest && (*rest == '+' || *rest == '-')) {
		size_t n = strspn(rest + 1, "abcdefghijklmnopqrstuvwxyz.");

		rest = n > 0 ? rest + 1 + n : NULL;
	}
	return rest && *rest == '\0';
}

bool clv_gpu_is_profile(const char *name)
{
	if (strncmp(name, "cores:", 6) == 0)
		return is_number(name + 6);
	if (strncmp(name, "vf:", 3) == 0)
		return is_number(name + 3);
	return is_mig(name) || is_modes(name);
}
