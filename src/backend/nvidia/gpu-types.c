/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs by their names as NVML gives them: "NVIDIA A100-SXM4-40GB", without "NVIDIA " from
 * drivers before R470.  Nothing here stands in for an answer that a driver gives. */
#include "backend/nvidia/gpu-types.h"

#include "backend/nvidia/nvml.h"
#include "base/cleanup.h"
#include "core/gpu/mig.h"

#include <ctype.h>
#include <string.h>

#define GIB UINT64_C(1073741824)
#define GA100_CORES 64u

struct gpu_type {
	const char *part; /* of the name, at the start of a word */
	uint16_t min_gib, max_gib;
	const char *model; /* in core's tables */
};

/* Names: the README of NVIDIA's open-gpu-kernel-modules.  Who shares profiles: the device
 * filters of config-default.yaml in NVIDIA's mig-parted, which has H800 NVL (233A) with
 * H100 NVL, and H100 96GB (233D) and H20 (2329) with GH200.  Multiprocessors are those of
 * the type that the table is named after: an H20 has fewer. */
/* clang-format off */
static const struct gpu_type gpu_types[] = {
	/* part                   GiB from, to */
	{ "A30",                    22,  25, "A30-24GB" },
	{ "A100",                   38,  41, "A100-40GB" },
	{ "A100",                   78,  81, "A100-80GB" },
	{ "A800",                   38,  41, "A100-40GB" },
	{ "A800",                   78,  81, "A100-80GB" },
	{ "H100",                   78,  81, "H100-80GB" },
	{ "H800",                   78,  81, "H100-80GB" },
	{ "H100",                   92,  95, "H100-94GB" },
	{ "H800",                   92,  95, "H100-94GB" },
	{ "GH200",                  94,  97, "H100-96GB-GH200" },
	{ "H100",                   95,  97, "H100-96GB-GH200" },
	{ "H20",                    94,  97, "H100-96GB-GH200" },
	{ "H200",                  138, 142, "H200-141GB" },
	{ "B200",                  177, 181, "B200-180GB" },
	{ "RTX PRO 6000 Blackwell", 93,  98, "RTX-PRO-6000-Blackwell-96GB" },
};

/* Those with the GA100 chip: of the Ampere generation they alone have MIG, and half as
 * many cores in a multiprocessor as its other chips. */
static const char *const ga100_names[] = { "A100", "A800", "A30" };

static const struct {
	uint32_t architecture;
	uint32_t cores;
} multiprocessors[] = {
	{ CLV_NVML_VOLTA,      64 },
	{ CLV_NVML_TURING,     64 },
	{ CLV_NVML_AMPERE,    128 },
	{ CLV_NVML_ADA,       128 },
	{ CLV_NVML_HOPPER,    128 },
	{ CLV_NVML_BLACKWELL, 128 },
};

/* The longer suffix is before the one that it starts with. */
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

/* "H200" is not in "GH200", which is another GPU. */
static bool has_word(const char *name, const char *part)
{
	const char *at = strstr(name, part);

	while (at && at != name && isalnum((unsigned char)at[-1]))
		at = strstr(at + 1, part);
	return at != NULL;
}

const struct clv_mig_model *clv_nvidia_type_find(const char *name, uint64_t memory_bytes)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(gpu_types); i++) {
		const struct gpu_type *type = &gpu_types[i];

		if (has_word(name, type->part) && memory_bytes >= type->min_gib * GIB &&
			memory_bytes <= type->max_gib * GIB)
			return clv_mig_model_find(type->model);
	}
	return NULL;
}

static bool is_ga100(const char *name)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(ga100_names); i++) {
		if (has_word(name, ga100_names[i]))
			return true;
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
	for (size_t i = 0; i < CLV_ARRAY_SIZE(multiprocessors); i++) {
		if (multiprocessors[i].architecture == architecture)
			return multiprocessors[i].cores;
	}
	return 0;
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
