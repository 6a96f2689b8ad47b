/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about GPUs by their names in NVML: "NVIDIA A100-SXM4-40GB", without "NVIDIA "
 * from drivers before R470.  A driver's own answer is preferred to these tables. */
#include "backend/nvidia/gpu-types.h"

#include "backend/nvidia/nvml.h"
#include "base/cleanup.h"
#include "core/gpu/gpu.h"

#include <ctype.h>
#include <string.h>

#define GIB UINT64_C(1073741824)
#define GA100_CORES 64u

/* clang-format off */
static const struct {
	uint32_t architecture;
	uint32_t cores; /* of a multiprocessor */
	const char *name;
} architectures[] = {
	{ CLV_NVML_VOLTA,      64, "volta" },
	{ CLV_NVML_TURING,     64, "turing" },
	{ CLV_NVML_AMPERE,    128, "ampere" },
	{ CLV_NVML_ADA,       128, "ada-lovelace" },
	{ CLV_NVML_HOPPER,    128, "hopper" },
	{ CLV_NVML_BLACKWELL, 128, "blackwell" },
};

/* A suffix matches the end of a name. */
static const struct {
	const char *suffix;
	uint32_t attribute;
} suffixes[] = {
	{ "+me.all", CLV_MIG_ALL_ME },
	{ "+me",     CLV_MIG_ME },
	{ "+gfx",    CLV_MIG_GFX },
	{ "-me",     CLV_MIG_NO_ME },
};

static const struct {
	uint32_t index;
	const char *suffix;
} suffixed_profiles[] = {
	{ 0x07, "+me" },     /* 1_SLICE_REV1 */
	{ 0x08, "+me" },     /* 2_SLICE_REV1 */
	{ 0x0a, "+gfx" },    /* 1_SLICE_GFX */
	{ 0x0b, "+gfx" },    /* 2_SLICE_GFX */
	{ 0x0c, "+gfx" },    /* 4_SLICE_GFX */
	{ 0x0d, "-me" },     /* 1_SLICE_NO_ME */
	{ 0x0e, "-me" },     /* 2_SLICE_NO_ME */
	{ 0x0f, "+me.all" }, /* 1_SLICE_ALL_ME */
	{ 0x10, "+me.all" }, /* 2_SLICE_ALL_ME */
	{ 0x11, "+gfx" },    /* 3_SLICE_GFX */
};
/* clang-format on */

/* Matches at the beginning of a word: "H200" does not match "GH200", another GPU. */
static bool has_word(const char *name, const char *part)
{
	const char *at = strstr(name, part);

	while (at && at != name && isalnum((unsigned char)at[-1]))
		at = strstr(at + 1, part);
	return at != NULL;
}

static bool is_of_size(const struct clv_gpu_match *called, uint64_t memory_bytes)
{
	return memory_bytes >= called->min_gib * GIB &&
	       memory_bytes <= called->max_gib * GIB;
}

const struct clv_mig_model *clv_nvidia_type_find(const char *name, uint64_t memory_bytes)
{
	const struct clv_gpu *gpu;

	for (size_t i = 0; (gpu = clv_gpu_at(i)); i++) {
		for (const struct clv_gpu_match *called = gpu->called; called->part;
			called++) {
			if (has_word(name, called->part) &&
				is_of_size(called, memory_bytes))
				return gpu->mig;
		}
	}
	return NULL;
}

/* The GA100 has half as many cores in a multiprocessor as the other chips of the Ampere
 * generation. */
static bool is_ga100(const char *name)
{
	const struct clv_gpu *gpu;

	for (size_t i = 0; (gpu = clv_gpu_at(i)); i++) {
		for (const struct clv_gpu_match *called = gpu->called; called->part;
			called++) {
			if (gpu->is_ga100 && has_word(name, called->part))
				return true;
		}
	}
	return false;
}

bool clv_nvidia_type_is_ampere(const char *name, uint32_t architecture)
{
	return architecture ? architecture == CLV_NVML_AMPERE : is_ga100(name);
}

uint32_t clv_nvidia_type_cores(const char *name, uint32_t architecture)
{
	if (is_ga100(name))
		return GA100_CORES;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(architectures); i++) {
		if (architectures[i].architecture == architecture)
			return architectures[i].cores;
	}
	return 0;
}

const char *clv_nvidia_type_architecture(const char *name, uint32_t architecture)
{
	if (clv_nvidia_type_is_ampere(name, architecture))
		architecture = CLV_NVML_AMPERE;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(architectures); i++) {
		if (architectures[i].architecture == architecture)
			return architectures[i].name;
	}
	return "";
}

uint32_t clv_nvidia_type_attributes(const char *profile)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(suffixes); i++) {
		const char *at = strstr(profile, suffixes[i].suffix);

		if (at && at[strlen(suffixes[i].suffix)] == '\0')
			return suffixes[i].attribute;
	}
	return 0;
}

const char *clv_nvidia_type_suffix(uint32_t index)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(suffixed_profiles); i++) {
		if (suffixed_profiles[i].index == index)
			return suffixed_profiles[i].suffix;
	}
	return "";
}
