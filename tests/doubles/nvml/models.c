/* SPDX-License-Identifier: Apache-2.0 */
#include "models.h"
#include "functions.h"
#include <stdio.h>
#include <string.h>

/* The tables. Sources: NVIDIA's MIG user guide ("Supported MIG Profiles"), and published
 * listings of real GPUs; selftest.py compares them with the collected facts where these
 * exist. Memory sizes are the driver's, not those in the names. */

#define SEVEN                       \
	1, 7,                       \
	{                           \
		0, 1, 2, 3, 4, 5, 6 \
	}
#define PAIRS              \
	2, 4,              \
	{                  \
		0, 2, 4, 6 \
	}
#define THREE           \
	2, 3,           \
	{               \
		0, 2, 4 \
	}
#define HALVES       \
	4, 2,        \
	{            \
		0, 4 \
	}
#define LEFT      \
	4, 1,     \
	{         \
		0 \
	}
#define WHOLE     \
	8, 1,     \
	{         \
		0 \
	}
#define QUARTERS_4         \
	1, 4,              \
	{                  \
		0, 1, 2, 3 \
	}
#define HALVES_4     \
	2, 2,        \
	{            \
		0, 2 \
	}
#define WHOLE_4   \
	4, 1,     \
	{         \
		0 \
	}
#define QUARTERS_12        \
	3, 4,              \
	{                  \
		0, 3, 6, 9 \
	}
#define HALVES_12    \
	6, 2,        \
	{            \
		0, 6 \
	}
#define WHOLE_12  \
	12, 1,    \
	{         \
		0 \
	}

/* clang-format off */
static const struct dnv_gi_profile a30[] = {
	/* name             id index slices max gfx   SM    MiB CE  dec enc jpg ofa */
	{ "1g.6gb",         14,  0, 1, 4, false,  14,   5952, 1, { 0, 0, 0, 0 }, { QUARTERS_4 } },
	{ "1g.6gb+me",      21,  7, 1, 1, false,  14,   5952, 1, { 1, 0, 1, 1 }, { QUARTERS_4 } },
	{ "2g.12gb",         5,  1, 2, 2, false,  28,  11970, 2, { 2, 0, 0, 0 }, { HALVES_4 } },
	{ "2g.12gb+me",      6,  8, 2, 1, false,  28,  11970, 2, { 2, 0, 1, 1 }, { HALVES_4 } },
	{ "4g.24gb",         0,  3, 4, 1, false,  56,  23344, 4, { 4, 0, 1, 1 }, { WHOLE_4 } },
};

static const struct dnv_gi_profile a100_40gb[] = {
	{ "1g.5gb",         19,  0, 1, 7, false,  14,   4864, 1, { 0, 0, 0, 0 }, { SEVEN } },
	{ "1g.5gb+me",      20,  7, 1, 1, false,  14,   4864, 1, { 1, 0, 1, 1 }, { SEVEN } },
	{ "1g.10gb",        15,  9, 1, 4, false,  14,   9856, 1, { 1, 0, 0, 0 }, { PAIRS } },
	{ "2g.10gb",        14,  1, 2, 3, false,  28,   9856, 2, { 1, 0, 0, 0 }, { THREE } },
	{ "3g.20gb",         9,  2, 3, 2, false,  42,  19968, 3, { 2, 0, 0, 0 }, { HALVES } },
	{ "4g.20gb",         5,  3, 4, 1, false,  56,  19968, 4, { 2, 0, 0, 0 }, { LEFT } },
	{ "7g.40gb",         0,  4, 7, 1, false,  98,  40192, 7, { 5, 0, 1, 1 }, { WHOLE } },
};

static const struct dnv_gi_profile a100_80gb[] = {
	{ "1g.10gb",        19,  0, 1, 7, false,  14,   9856, 1, { 0, 0, 0, 0 }, { SEVEN } },
	{ "1g.10gb+me",     20,  7, 1, 1, false,  14,   9856, 1, { 1, 0, 1, 1 }, { SEVEN } },
	{ "1g.20gb",        15,  9, 1, 4, false,  14,  19968, 1, { 1, 0, 0, 0 }, { PAIRS } },
	{ "2g.20gb",        14,  1, 2, 3, false,  28,  19968, 2, { 1, 0, 0, 0 }, { THREE } },
	{ "3g.40gb",         9,  2, 3, 2, false,  42,  40192, 3, { 2, 0, 0, 0 }, { HALVES } },
	{ "4g.40gb",         5,  3, 4, 1, false,  56,  40192, 4, { 2, 0, 0, 0 }, { LEFT } },
	{ "7g.80gb",         0,  4, 7, 1, false,  98,  80384, 7, { 5, 0, 1, 1 }, { WHOLE } },
};

static const struct dnv_gi_profile h100_80gb[] = {
	{ "1g.10gb",        19,  0, 1, 7, false,  16,   9984, 1, { 1, 0, 1, 0 }, { SEVEN } },
	{ "1g.10gb+me",     20,  7, 1, 1, false,  16,   9984, 1, { 1, 0, 1, 1 }, { SEVEN } },
	{ "1g.20gb",        15,  9, 1, 4, false,  26,  20096, 1, { 1, 0, 1, 0 }, { PAIRS } },
	{ "2g.20gb",        14,  1, 2, 3, false,  32,  20096, 2, { 2, 0, 2, 0 }, { THREE } },
	{ "3g.40gb",         9,  2, 3, 2, false,  60,  40448, 3, { 3, 0, 3, 0 }, { HALVES } },
	{ "4g.40gb",         5,  3, 4, 1, false,  64,  40448, 4, { 4, 0, 4, 0 }, { LEFT } },
	{ "7g.80gb",         0,  4, 7, 1, false, 132,  81152, 8, { 7, 0, 7, 1 }, { WHOLE } },
};

static const struct dnv_gi_profile h200[] = {
	{ "1g.18gb",        19,  0, 1, 7, false,  16,  16384, 1, { 1, 0, 1, 0 }, { SEVEN } },
	{ "1g.18gb+me",     20,  7, 1, 1, false,  16,  16384, 1, { 1, 0, 1, 1 }, { SEVEN } },
	{ "1g.35gb",        15,  9, 1, 4, false,  26,  33024, 1, { 1, 0, 1, 0 }, { PAIRS } },
	{ "2g.35gb",        14,  1, 2, 3, false,  32,  33024, 2, { 2, 0, 2, 0 }, { THREE } },
	{ "3g.71gb",         9,  2, 3, 2, false,  60,  71168, 3, { 3, 0, 3, 0 }, { HALVES } },
	{ "4g.71gb",         5,  3, 4, 1, false,  64,  71168, 4, { 4, 0, 4, 0 }, { LEFT } },
	{ "7g.141gb",        0,  4, 7, 1, false, 132, 143104, 8, { 7, 0, 7, 1 }, { WHOLE } },
};

static const struct dnv_gi_profile rtx_pro_6000[] = {
	{ "1g.24gb",        14,  0, 1, 4, false,  46,  24186, 1, { 1, 1, 1, 0 }, { QUARTERS_12 } },
	{ "1g.24gb+me",     21,  7, 1, 1, false,  46,  24186, 1, { 1, 1, 1, 1 }, { QUARTERS_12 } },
	{ "1g.24gb+gfx",    47, 10, 1, 4, true,   46,  24186, 1, { 1, 1, 1, 0 }, { QUARTERS_12 } },
	{ "1g.24gb+me.all", 65, 15, 1, 1, false,  46,  24186, 1, { 4, 4, 4, 1 }, { QUARTERS_12 } },
	{ "1g.24gb-me",     67, 13, 1, 4, false,  46,  24186, 1, { 0, 0, 0, 0 }, { QUARTERS_12 } },
	{ "2g.48gb",         5,  1, 2, 2, false,  94,  48517, 2, { 2, 2, 2, 0 }, { HALVES_12 } },
	{ "2g.48gb+gfx",    35, 11, 2, 2, true,   94,  48517, 2, { 2, 2, 2, 0 }, { HALVES_12 } },
	{ "2g.48gb+me.all", 64, 16, 2, 1, false,  94,  48517, 2, { 4, 4, 4, 1 }, { HALVES_12 } },
	{ "2g.48gb-me",     66, 14, 2, 2, false,  94,  48517, 2, { 0, 0, 0, 0 }, { HALVES_12 } },
	{ "4g.96gb",         0,  3, 4, 1, false, 188,  97280, 4, { 4, 4, 4, 1 }, { WHOLE_12 } },
	{ "4g.96gb+gfx",    32, 12, 4, 1, true,  188,  97280, 4, { 4, 4, 4, 1 }, { WHOLE_12 } },
};

static const struct dnv_gi_profile x9000[] = {
	{ "1g.11gb",        19,  0, 1, 7, false,  16,  11008, 1, { 1, 0, 1, 0 }, { SEVEN } },
	{ "2g.22gb",        14,  1, 2, 3, false,  32,  22016, 2, { 2, 0, 2, 0 }, { THREE } },
	{ "3g.40gb",         9,  2, 3, 2, false,  48,  40448, 3, { 3, 0, 3, 0 }, { HALVES } },
	{ "7g.80gb",         0,  4, 7, 1, false, 112,  81008, 8, { 7, 0, 7, 1 }, { WHOLE } },
};

#define MIG(table) table, sizeof(table) / sizeof((table)[0])

static const struct dnv_model models[] = {
	/* type, name, PCI ids, MiB: total and the driver's reserve, CUDA cores,
	 * architecture, compute capability, grid, slices, keeps its mode, double_sms,
	 * profiles */
	{ "A30-24GB", "NVIDIA A30", 0x20b710de, 0x153210de, 24576, 301, 3584, 7, {8, 0}, 4, 4, true, 0,
	  MIG(a30) },
	{ "A100-40GB", "NVIDIA A100-SXM4-40GB", 0x20b010de, 0x134f10de, 40960, 425, 6912, 7, {8, 0}, 8, 7,
	  true, 0, MIG(a100_40gb) },
	{ "A100-80GB", "NVIDIA A100-SXM4-80GB", 0x20b210de, 0x146310de, 81920, 696, 6912, 7, {8, 0}, 8, 7,
	  true, 0, MIG(a100_80gb) },
	{ "H100-80GB", "NVIDIA H100 80GB HBM3", 0x233010de, 0x16c110de, 81559, 551, 16896, 9, {9, 0}, 8, 7,
	  false, 26, MIG(h100_80gb) },
	{ "H200-141GB", "NVIDIA H200", 0x233510de, 0x18be10de, 143771, 615, 16896, 9, {9, 0}, 8, 7, false, 26,
	  MIG(h200) },
	{ "RTX-PRO-6000-Blackwell-96GB", "NVIDIA RTX PRO 6000 Blackwell Server Edition",
	  0x2bb510de, 0x204e10de, 97887, 607, 24064, 10, {12, 0}, 12, 4, false, 0, MIG(rtx_pro_6000) },
	/* Of no table: a product to come, with profiles of its own. */
	{ "X9000-80GB", "NVIDIA X9000 80GB", 0x3f0010de, 0x3f0110de, 81559, 551, 16896, 10, {10, 0}, 8, 7,
	  false, 0, MIG(x9000) },
	{ "T4", "Tesla T4", 0x1eb810de, 0x12a210de, 15360, 266, 2560, 6, {7, 5}, 0, 0, false, 0, NULL, 0 },
	{ "V100", "Tesla V100-SXM2-16GB", 0x1db110de, 0x121210de, 16384, 232, 5120, 5, {7, 0}, 0, 0, false, 0,
	  NULL, 0 },
};

/* Profiles in listings of A100. Number 7 is 1c with the multiprocessors of 1g with double
 * memory: seen in 2g on H100, and as the whole of 1g with double memory there. */
#define REV1 7
const struct dnv_ci_profile dnv_ci_profiles[] = {
	{ 1, 0,    1, { 1, 1, { 0 } } },
	{ 1, REV1, 1, { 1, 1, { 0 } } },
	{ 2, 0,    1, { 1, 2, { 0, 1 } } },
	{ 2, REV1, 1, { 2, 1, { 0 } } },
	{ 2, 1,    2, { 2, 1, { 0 } } },
	{ 3, 0,    1, { 1, 3, { 0, 1, 2 } } },
	{ 3, 1,    2, { 2, 1, { 0 } } },
	{ 3, 2,    3, { 3, 1, { 0 } } },
	{ 4, 0,    1, { 1, 4, { 0, 1, 2, 3 } } },
	{ 4, 1,    2, { 2, 2, { 0, 2 } } },
	{ 4, 3,    4, { 4, 1, { 0 } } },
	{ 7, 0,    1, { SEVEN } },
	{ 7, 1,    2, { THREE } },
	{ 7, 2,    3, { 3, 2, { 0, 4 } } },
	{ 7, 3,    4, { 4, 1, { 0 } } },
	{ 7, 4,    7, { 7, 1, { 0 } } },
};
/* clang-format on */

const size_t dnv_n_ci_profiles = sizeof(dnv_ci_profiles) / sizeof(dnv_ci_profiles[0]);

/* Later headers added +me, then double memory and 2g+me, then the others. */
const uint32_t dnv_gi_profile_count = DNV_DRIVER < 470 ? 5 : DNV_DRIVER < 580 ? 8 : 17;
const uint32_t dnv_ci_profile_count = DNV_DRIVER < 470 ? 5 : DNV_DRIVER < 580 ? 7 : 8;

const struct dnv_model *dnv_model_find(const char *type)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (strcmp(models[i].type, type) == 0)
			return &models[i];
	return NULL;
}

bool dnv_gi_profile_exists(const struct dnv_gi_profile *profile)
{
	return profile->index < dnv_gi_profile_count;
}

static bool has_double_sms(const struct dnv_model *model, const struct dnv_gi_profile *gi)
{
	return model->double_sms && gi->slices == 1 && gi->sms == model->double_sms;
}

bool dnv_ci_profile_exists(const struct dnv_model *model, const struct dnv_gi_profile *gi,
	const struct dnv_ci_profile *profile)
{
	bool is_rev1 = profile->number == REV1;

	if (profile->gi_slices != gi->slices || profile->number >= dnv_ci_profile_count)
		return false;
	if (gi->slices == 1)
		return has_double_sms(model, gi) == is_rev1;
	return model->double_sms || !is_rev1;
}

static bool is_whole(
	const struct dnv_gi_profile *gi, const struct dnv_ci_profile *profile)
{
	return profile->slices == gi->slices;
}

uint32_t dnv_ci_sms(const struct dnv_model *model, const struct dnv_gi_profile *gi,
	const struct dnv_ci_profile *profile)
{
	if (is_whole(gi, profile))
		return gi->sms;
	if (profile->number == REV1)
		return model->double_sms;
	/* A compute instance has the multiprocessors of a GPU instance with as many
	 * slices. */
	for (size_t i = 0; i < model->n_profiles; i++)
		if (model->profiles[i].slices == profile->slices)
			return model->profiles[i].sms;
	return profile->slices * model->profiles[0].sms;
}

void dnv_ci_name(const struct dnv_gi_profile *gi, const struct dnv_ci_profile *profile,
	char *ret, size_t bytes)
{
	if (is_whole(gi, profile))
		snprintf(ret, bytes, "MIG %s", gi->name);
	else
		snprintf(ret, bytes, "MIG %uc.%s", profile->slices, gi->name);
}
