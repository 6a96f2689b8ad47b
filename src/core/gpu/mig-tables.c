/* SPDX-License-Identifier: Apache-2.0 */
/* The MIG profiles of each GPU type, for planning where no driver answers; where one
 * does, its own numbers count.  Source: NVIDIA's MIG user guide ("Supported MIG
 * Profiles") and public nvidia-smi listings; tests/core holds this against the collected
 * facts. */
#include "core/gpu/mig.h"

#define NA CLV_ENGINES_UNKNOWN

/* clang-format off */
static const struct clv_mig_profile a30[] = {
	/* name              id     MiB  attributes       SM idx  c size max starts, engines */
	{ "1g.6gb",          14,   5952, 0,               14,  0, 1,  1, 4, 4, {0, 1, 2, 3}, {1, 0, 0, 0, 0} },
	{ "1g.6gb+me",       21,   5952, CLV_MIG_ME,      14,  7, 1,  1, 1, 4, {0, 1, 2, 3}, {1, 1, 0, 1, 1} },
	{ "2g.12gb",          5,  11970, 0,               28,  1, 2,  2, 2, 2, {0, 2}, {2, 2, 0, 0, 0} },
	{ "2g.12gb+me",       6,  11970, CLV_MIG_ME,      28,  8, 2,  2, 1, 2, {0, 2}, {2, 2, 0, 1, 1} },
	{ "4g.24gb",          0,  23344, 0,               56,  3, 4,  4, 1, 1, {0}, {4, 4, 0, 1, 1} },
};

static const struct clv_mig_profile a100_40gb[] = {
	/* name              id     MiB  attributes       SM idx  c size max starts, engines */
	{ "1g.5gb",          19,   4864, 0,               14,  0, 1,  1, 7, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 0, 0, 0, 0} },
	{ "1g.5gb+me",       20,   4864, CLV_MIG_ME,      14,  7, 1,  1, 1, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 1, 0, 1, 1} },
	{ "1g.10gb",         15,   9856, 0,               14,  9, 1,  2, 4, 4, {0, 2, 4, 6}, {1, 1, 0, 0, 0} },
	{ "2g.10gb",         14,   9856, 0,               28,  1, 2,  2, 3, 3, {0, 2, 4}, {2, 1, 0, 0, 0} },
	{ "3g.20gb",          9,  19968, 0,               42,  2, 3,  4, 2, 2, {0, 4}, {3, 2, 0, 0, 0} },
	{ "4g.20gb",          5,  19968, 0,               56,  3, 4,  4, 1, 1, {0}, {4, 2, 0, 0, 0} },
	{ "7g.40gb",          0,  40192, 0,               98,  4, 7,  8, 1, 1, {0}, {7, 5, 0, 1, 1} },
};

static const struct clv_mig_profile a100_80gb[] = {
	/* name              id     MiB  attributes       SM idx  c size max starts, engines */
	{ "1g.10gb",         19,   9856, 0,               14,  0, 1,  1, 7, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 0, 0, 0, 0} },
	{ "1g.10gb+me",      20,   9856, CLV_MIG_ME,      14,  7, 1,  1, 1, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 1, 0, 1, 1} },
	{ "1g.20gb",         15,  19968, 0,               14,  9, 1,  2, 4, 4, {0, 2, 4, 6}, {1, 1, 0, 0, 0} },
	{ "2g.20gb",         14,  19968, 0,               28,  1, 2,  2, 3, 3, {0, 2, 4}, {2, 1, 0, 0, 0} },
	{ "3g.40gb",          9,  40192, 0,               42,  2, 3,  4, 2, 2, {0, 4}, {3, 2, 0, 0, 0} },
	{ "4g.40gb",          5,  40192, 0,               56,  3, 4,  4, 1, 1, {0}, {4, 2, 0, 0, 0} },
	{ "7g.80gb",          0,  80384, 0,               98,  4, 7,  8, 1, 1, {0}, {7, 5, 0, 1, 1} },
};

static const struct clv_mig_profile h100_80gb[] = {
	/* name              id     MiB  attributes       SM idx  c size max starts, engines */
	{ "1g.10gb",         19,   9984, 0,               16,  0, 1,  1, 7, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 1, 0, 1, 0} },
	{ "1g.10gb+me",      20,   9984, CLV_MIG_ME,      16,  7, 1,  1, 1, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 1, 0, 1, 1} },
	{ "1g.20gb",         15,  20090, 0,               26,  9, 1,  2, 4, 4, {0, 2, 4, 6}, {1, 1, 0, 1, 0} },
	{ "2g.20gb",         14,  20090, 0,               32,  1, 2,  2, 3, 3, {0, 2, 4}, {2, 2, 0, 2, 0} },
	{ "3g.40gb",          9,  40448, 0,               60,  2, 3,  4, 2, 2, {0, 4}, {3, 3, 0, 3, 0} },
	{ "4g.40gb",          5,  40448, 0,               64,  3, 4,  4, 1, 1, {0}, {4, 4, 0, 4, 0} },
	{ "7g.80gb",          0,  81152, 0,              132,  4, 7,  8, 1, 1, {0}, {8, 7, 0, 7, 1} },
};

static const struct clv_mig_profile h100_94gb[] = {
	/* name              id     MiB  attributes       SM idx  c size max starts, engines */
	{ "1g.12gb",         19,  10874, 0,               16,  0, 1,  1, 7, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 1, 0, 1, 0} },
	{ "1g.12gb+me",      20,  10874, CLV_MIG_ME,      16,  7, 1,  1, 1, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 1, 0, 1, 1} },
	{ "1g.24gb",         15,  22016, 0,               26,  9, 1,  2, 4, 4, {0, 2, 4, 6}, {1, 1, 0, 1, 0} },
	{ "2g.24gb",         14,  22016, 0,               32,  1, 2,  2, 3, 3, {0, 2, 4}, {2, 2, 0, 2, 0} },
	{ "3g.47gb",          9,  47226, 0,               60,  2, 3,  4, 2, 2, {0, 4}, {3, 3, 0, 3, 0} },
	{ "4g.47gb",          5,  47226, 0,               64,  3, 4,  4, 1, 1, {0}, {4, 4, 0, 4, 0} },
	{ "7g.94gb",          0,  94842, 0,              132,  4, 7,  8, 1, 1, {0}, {8, 7, 0, 7, 1} },
};

static const struct clv_mig_profile gh200_96gb[] = {
	/* name              id     MiB  attributes       SM idx  c size max starts, engines */
	{ "1g.12gb",         19,      0, 0,               16,  0, 1,  1, 7, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 1, 0, 1, 0} },
	{ "1g.12gb+me",      20,      0, CLV_MIG_ME,      16,  7, 1,  1, 1, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 1, 0, 1, 1} },
	{ "1g.24gb",         15,      0, 0,               26,  9, 1,  2, 4, 4, {0, 2, 4, 6}, {1, 1, 0, 1, 0} },
	{ "2g.24gb",         14,      0, 0,               32,  1, 2,  2, 3, 3, {0, 2, 4}, {2, 2, 0, 2, 0} },
	{ "3g.48gb",          9,      0, 0,               60,  2, 3,  4, 2, 2, {0, 4}, {3, 3, 0, 3, 0} },
	{ "4g.48gb",          5,      0, 0,               64,  3, 4,  4, 1, 1, {0}, {4, 4, 0, 4, 0} },
	{ "7g.96gb",          0,      0, 0,              132,  4, 7,  8, 1, 1, {0}, {8, 7, 0, 7, 1} },
};

static const struct clv_mig_profile h200[] = {
	/* name              id     MiB  attributes       SM idx  c size max starts, engines */
	{ "1g.18gb",         19,  16384, 0,               16,  0, 1,  1, 7, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 1, 0, 1, 0} },
	{ "1g.18gb+me",      20,  16384, CLV_MIG_ME,      16,  7, 1,  1, 1, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 1, 0, 1, 1} },
	{ "1g.35gb",         15,      0, 0,               26,  9, 1,  2, 4, 4, {0, 2, 4, 6}, {1, 1, 0, 1, 0} },
	{ "2g.35gb",         14,      0, 0,               32,  1, 2,  2, 3, 3, {0, 2, 4}, {2, 2, 0, 2, 0} },
	{ "3g.71gb",          9,      0, 0,               60,  2, 3,  4, 2, 2, {0, 4}, {3, 3, 0, 3, 0} },
	{ "4g.71gb",          5,      0, 0,               64,  3, 4,  4, 1, 1, {0}, {4, 4, 0, 4, 0} },
	{ "7g.141gb",         0,      0, 0,              132,  4, 7,  8, 1, 1, {0}, {8, 7, 0, 7, 1} },
};

static const struct clv_mig_profile b200[] = {
	/* name              id     MiB  attributes       SM idx  c size max starts, engines */
	{ "1g.23gb",         19,  23552, 0,               18,  0, 1,  1, 7, 7, {0, 1, 2, 3, 4, 5, 6}, {2, 1, 0, 1, 0} },
	{ "1g.23gb+me",      20,  23552, CLV_MIG_ME,      18,  7, 1,  1, 1, 7, {0, 1, 2, 3, 4, 5, 6}, {2, 1, 0, 1, 1} },
	{ "1g.45gb",         15,  46080, 0,                0,  9, 1,  2, 4, 4, {0, 2, 4, 6}, {2, 1, 0, 1, 0} },
	{ "2g.45gb",         14,  46080, 0,               36,  1, 2,  2, 3, 3, {0, 2, 4}, {3, NA, 0, NA, 0} },
	{ "3g.90gb",          9,  92160, 0,                0,  2, 3,  4, 2, 2, {0, 4}, {6, NA, 0, NA, 0} },
	{ "4g.90gb",          5,  92160, 0,               72,  3, 4,  4, 1, 1, {0}, {8, NA, 0, NA, 0} },
	{ "7g.180gb",         0, 184320, 0,              148,  4, 7,  8, 1, 1, {0}, {16, NA, 0, NA, 1} },
};

static const struct clv_mig_profile rtx_pro_6000[] = {
	/* name              id     MiB  attributes       SM idx  c size max starts, engines */
	{ "1g.24gb",         14,  24186, 0,               46,  0, 1,  3, 4, 4, {0, 3, 6, 9}, {1, 1, 1, 1, 0} },
	{ "1g.24gb+me",      21,  24186, CLV_MIG_ME,      46,  7, 1,  3, 1, 4, {0, 3, 6, 9}, {1, 1, 1, 1, 1} },
	{ "1g.24gb+gfx",     47,  24186, CLV_MIG_GFX,     46, 10, 1,  3, 4, 4, {0, 3, 6, 9}, {1, 1, 1, 1, 0} },
	{ "1g.24gb+me.all",  65,  24186, CLV_MIG_ALL_ME,  46, 15, 1,  3, 1, 4, {0, 3, 6, 9}, {1, 4, 4, 4, 1} },
	{ "1g.24gb-me",      67,  24186, CLV_MIG_NO_ME,   46, 13, 1,  3, 4, 4, {0, 3, 6, 9}, {1, 0, 0, 0, 0} },
	{ "2g.48gb",          5,  48517, 0,               94,  1, 2,  6, 2, 2, {0, 6}, {2, 2, 2, 2, 0} },
	{ "2g.48gb+gfx",     35,  48517, CLV_MIG_GFX,     94, 11, 2,  6, 2, 2, {0, 6}, {2, 2, 2, 2, 0} },
	{ "2g.48gb+me.all",  64,  48517, CLV_MIG_ALL_ME,  94, 16, 2,  6, 1, 2, {0, 6}, {2, 4, 4, 4, 1} },
	{ "2g.48gb-me",      66,  48517, CLV_MIG_NO_ME,   94, 14, 2,  6, 2, 2, {0, 6}, {2, 0, 0, 0, 0} },
	{ "4g.96gb",          0,  97280, 0,              188,  3, 4, 12, 1, 1, {0}, {4, 4, 4, 4, 1} },
	{ "4g.96gb+gfx",     32,  97280, CLV_MIG_GFX,    188, 12, 4, 12, 1, 1, {0}, {4, 4, 4, 4, 1} },
};

#define MODEL(text, grid, slices, table) \
	{ text, grid, slices, table, sizeof(table) / sizeof(table[0]) }

const struct clv_mig_model clv_mig_models[] = {
	MODEL("A30-24GB", 4, 4, a30),
	MODEL("A100-40GB", 8, 7, a100_40gb),
	MODEL("A100-80GB", 8, 7, a100_80gb),
	MODEL("H100-80GB", 8, 7, h100_80gb),
	MODEL("H100-94GB", 8, 7, h100_94gb),
	MODEL("H100-96GB-GH200", 8, 7, gh200_96gb),
	MODEL("H200-141GB", 8, 7, h200),
	MODEL("B200-180GB", 8, 7, b200),
	MODEL("RTX-PRO-6000-Blackwell-96GB", 12, 4, rtx_pro_6000),
};
/* clang-format on */

const size_t clv_mig_n_models = sizeof(clv_mig_models) / sizeof(clv_mig_models[0]);

/* Compute instances: a table for each size of GPU instance. */
#define PART(n, max, ...)                                                           \
	{                                                                           \
		.name = #n "c", .slices = (n), .size = (n), .max_instances = (max), \
		.n_starts = sizeof((uint8_t[]){__VA_ARGS__}), .starts = {           \
			__VA_ARGS__                                                 \
		}                                                                   \
	}

static const struct clv_mig_profile parts_of_1[] = {PART(1, 1, 0)};
static const struct clv_mig_profile parts_of_2[] = {PART(1, 2, 0, 1), PART(2, 1, 0)};
static const struct clv_mig_profile parts_of_3[] = {
	PART(1, 3, 0, 1, 2), PART(2, 1, 0), PART(3, 1, 0)};
static const struct clv_mig_profile parts_of_4[] = {
	PART(1, 4, 0, 1, 2, 3), PART(2, 2, 0, 2), PART(4, 1, 0)};
static const struct clv_mig_profile parts_of_7[] = {PART(1, 7, 0, 1, 2, 3, 4, 5, 6),
	PART(2, 3, 0, 2, 4), PART(3, 2, 0, 4), PART(4, 1, 0), PART(7, 1, 0)};

#define PARTS(n)                                                           \
	{                                                                  \
		"a GPU instance of " #n " slices", (n), (n), parts_of_##n, \
			sizeof(parts_of_##n) / sizeof(parts_of_##n[0])     \
	}

static const struct clv_mig_model part_models[] = {
	PARTS(1), PARTS(2), PARTS(3), PARTS(4), PARTS(7)};

const struct clv_mig_model *clv_mig_model_of_parts(unsigned slices)
{
	for (size_t i = 0; i < sizeof(part_models) / sizeof(part_models[0]); i++) {
		if (part_models[i].slices == slices)
			return &part_models[i];
	}
	return NULL;
}
