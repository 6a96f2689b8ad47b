/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's GPUs.  Sources:
 * - MIG profiles (for planning without a driver; a driver's own numbers take precedence):
 *   NVIDIA's MIG user guide ("Supported MIG Profiles") and public nvidia-smi listings;
 *   tests/core compares them with the collected facts.
 * - Names: the README of NVIDIA's open-gpu-kernel-modules, nvidia-smi.
 * - Models that share profiles: the device filters of config-default.yaml in NVIDIA's
 *   mig-parted, which groups H800 NVL (233A) with H100 NVL, and H100 96GB (233D), H20
 *   (2329) and PG506 (20B6) with GH200.
 * - PCI ids: the comments of that file, and pci.ids for the products. */
#include "core/gpu/gpu-internal.h"

#define NA CLV_ENGINES_UNKNOWN
#define NO_ID CLV_MIG_ID_UNKNOWN

/* clang-format off */
/* The profiles of a GPU of seven slices of which only the names are known: the gigabytes of
 * a slice, of two, of half of the GPU and of all of it.  Ids and placements are the same for
 * all GPUs of seven slices. */
#define NO_ENGINES { NA, NA, NA, NA, NA }
#define SEVEN_SLICES(one, two, half, whole) {                                                        \
	{ "1g." one "gb",    19, 0, 0,          0, 0, 1, 1, 7, 7, {0, 1, 2, 3, 4, 5, 6}, NO_ENGINES }, \
	{ "1g." one "gb+me", 20, 0, CLV_MIG_ME, 0, 7, 1, 1, 1, 7, {0, 1, 2, 3, 4, 5, 6}, NO_ENGINES }, \
	{ "1g." two "gb",    15, 0, 0,          0, 9, 1, 2, 4, 4, {0, 2, 4, 6}, NO_ENGINES },          \
	{ "2g." two "gb",    14, 0, 0,          0, 1, 2, 2, 3, 3, {0, 2, 4}, NO_ENGINES },             \
	{ "3g." half "gb",    9, 0, 0,          0, 2, 3, 4, 2, 2, {0, 4}, NO_ENGINES },                \
	{ "4g." half "gb",    5, 0, 0,          0, 3, 4, 4, 1, 1, {0}, NO_ENGINES },                   \
	{ "7g." whole "gb",   0, 0, 0,          0, 4, 7, 8, 1, 1, {0}, NO_ENGINES },                   \
}

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
	{ "1g.20gb",         15,  20096, 0,               26,  9, 1,  2, 4, 4, {0, 2, 4, 6}, {1, 1, 0, 1, 0} },
	{ "2g.20gb",         14,  20096, 0,               32,  1, 2,  2, 3, 3, {0, 2, 4}, {2, 2, 0, 2, 0} },
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

static const struct clv_mig_profile h20[] = SEVEN_SLICES("12", "24", "48", "96");

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

static const struct clv_mig_profile gh200_144gb[] = {
	/* name              id     MiB  attributes       SM idx  c size max starts, engines */
	{ "1g.18gb",         19,      0, 0,               16,  0, 1,  1, 7, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 1, 0, 1, 0} },
	{ "1g.18gb+me",      20,      0, CLV_MIG_ME,      16,  7, 1,  1, 1, 7, {0, 1, 2, 3, 4, 5, 6}, {1, 1, 0, 1, 1} },
	{ "1g.36gb",         15,      0, 0,               26,  9, 1,  2, 4, 4, {0, 2, 4, 6}, {1, 1, 0, 1, 0} },
	{ "2g.36gb",         14,      0, 0,               32,  1, 2,  2, 3, 3, {0, 2, 4}, {2, 2, 0, 2, 0} },
	{ "3g.72gb",          9,      0, 0,               60,  2, 3,  4, 2, 2, {0, 4}, {3, 3, 0, 3, 0} },
	{ "4g.72gb",          5,      0, 0,               64,  3, 4,  4, 1, 1, {0}, {4, 4, 0, 4, 0} },
	{ "7g.144gb",         0,      0, 0,              132,  4, 7,  8, 1, 1, {0}, {8, 7, 0, 7, 1} },
};

static const struct clv_mig_profile b200[] = {
	/* name              id     MiB  attributes       SM idx  c size max starts, engines */
	{ "1g.23gb",         19,  23040, 0,               18,  0, 1,  1, 7, 7, {0, 1, 2, 3, 4, 5, 6}, {2, 1, 0, 1, 0} },
	{ "1g.23gb+me",      20,  23040, CLV_MIG_ME,      18,  7, 1,  1, 1, 7, {0, 1, 2, 3, 4, 5, 6}, {2, 1, 0, 1, 1} },
	{ "1g.45gb",         15,  46080, 0,               18,  9, 1,  2, 4, 4, {0, 2, 4, 6}, {2, 1, 0, 1, 0} },
	{ "2g.45gb",         14,  46080, 0,               36,  1, 2,  2, 3, 3, {0, 2, 4}, {3, 1, 0, 1, 0} },
	{ "3g.90gb",          9,  92160, 0,               54,  2, 3,  4, 2, 2, {0, 4}, {6, 1, 0, 1, 0} },
	{ "4g.90gb",          5,  92160, 0,               72,  3, 4,  4, 1, 1, {0}, {8, 1, 0, 1, 0} },
	{ "7g.180gb",         0, 184320, 0,              148,  4, 7,  8, 1, 1, {0}, {16, 1, 0, 1, 1} },
};

static const struct clv_mig_profile gb200[] = SEVEN_SLICES("23", "47", "93", "186");

static const struct clv_mig_profile b300[] = SEVEN_SLICES("34", "67", "135", "269");

static const struct clv_mig_profile gb300[] = SEVEN_SLICES("35", "70", "139", "278");

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

/* As NVIDIA's MIG guide of driver 610 has it: two instances at most. The guide of driver
 * 580 has 1g.12gb to 4g.48gb: with such a driver its own report is used, as always. */
static const struct clv_mig_profile rtx_pro_5000[] = {
	/* name              id     MiB  attributes       SM idx  c size max starts, engines */
	{ "1g.24gb",         NO_ID,      0, 0,                0,  0, 1,  1, 2, 2, {0, 1}, {NA, NA, NA, NA, NA} },
	{ "1g.24gb+me",      NO_ID,      0, CLV_MIG_ME,       0,  7, 1,  1, 1, 2, {0, 1}, {NA, NA, NA, NA, NA} },
	{ "1g.24gb+gfx",     NO_ID,      0, CLV_MIG_GFX,      0, 10, 1,  1, 2, 2, {0, 1}, {NA, NA, NA, NA, NA} },
	{ "1g.24gb+me.all",  NO_ID,      0, CLV_MIG_ALL_ME,   0, 15, 1,  1, 1, 2, {0, 1}, {NA, NA, NA, NA, NA} },
	{ "1g.24gb-me",      NO_ID,      0, CLV_MIG_NO_ME,    0, 13, 1,  1, 2, 2, {0, 1}, {NA, NA, NA, NA, NA} },
	{ "2g.48gb",         NO_ID,      0, 0,                0,  1, 2,  2, 1, 1, {0}, {NA, NA, NA, NA, NA} },
	{ "2g.48gb+gfx",     NO_ID,      0, CLV_MIG_GFX,      0, 11, 2,  2, 1, 1, {0}, {NA, NA, NA, NA, NA} },
};

/* By the guide of driver 610. */
static const struct clv_mig_profile rtx_pro_4500[] = {
	/* name              id     MiB  attributes       SM idx  c size max starts, engines */
	{ "1g.16gb",         NO_ID,      0, 0,                0,  0, 1,  1, 2, 2, {0, 1}, {NA, NA, NA, NA, NA} },
	{ "1g.16gb+gfx",     NO_ID,      0, CLV_MIG_GFX,      0, 10, 1,  1, 2, 2, {0, 1}, {NA, NA, NA, NA, NA} },
	{ "1g.16gb+me.all",  NO_ID,      0, CLV_MIG_ALL_ME,   0, 15, 1,  1, 1, 2, {0, 1}, {NA, NA, NA, NA, NA} },
	{ "1g.16gb-me",      NO_ID,      0, CLV_MIG_NO_ME,    0, 13, 1,  1, 2, 2, {0, 1}, {NA, NA, NA, NA, NA} },
	{ "2g.32gb",         NO_ID,      0, 0,                0,  1, 2,  2, 1, 1, {0}, {NA, NA, NA, NA, NA} },
	{ "2g.32gb+gfx",     NO_ID,      0, CLV_MIG_GFX,      0, 11, 2,  2, 1, 1, {0}, {NA, NA, NA, NA, NA} },
};

#define GPU(text) .name = text, .vendor = CLV_GPU_NVIDIA
#define WITH_MIG(text, grid, slices, table)                                       \
	GPU(text), .has_mig = true, .mig = &(const struct clv_mig_model) {        \
		text, grid, slices, table, sizeof(table) / sizeof(table[0])       \
	}

const struct clv_gpu clv_gpus_nvidia[] = {
	{
		WITH_MIG("A30-24GB", 4, 4, a30),
		.label = "A30",
		.product = "NVIDIA A30",
		.is_ga100 = true,
		.called = { { "A30", 22, 25 } },
		.pci = { 0x20b7 },
	},
	{
		WITH_MIG("A100-40GB", 8, 7, a100_40gb),
		.label = "A100 (40 GB)",
		.product = "NVIDIA A100-SXM4-40GB",
		.is_ga100 = true,
		.compute_units = 108, /* ten of them are in no MIG profile */
		.called = { { "A100", 38, 41 }, { "A800", 38, 41 } },
		.pci = { 0x20b0 /* SXM4 */, 0x20b1 /* PCIe */, 0x20f1 /* PCIe */, 0x20f6 /* A800 */ },
	},
	{
		WITH_MIG("A100-80GB", 8, 7, a100_80gb),
		.label = "A100 (80 GB)",
		.product = "NVIDIA A100-SXM4-80GB",
		.is_ga100 = true,
		.compute_units = 108, /* likewise */
		.called = { { "A100", 78, 81 }, { "A800", 78, 81 } },
		.pci = { 0x20b2 /* SXM4 */, 0x20b5 /* PCIe */, 0x20f3 /* A800 SXM4 */, 0x20f5 /* A800 PCIe */ },
	},
	{
		WITH_MIG("H100-80GB", 8, 7, h100_80gb),
		.label = "H100 (80 GB)",
		.product = "NVIDIA H100 80GB HBM3",
		.called = { { "H100", 78, 81 }, { "H800", 78, 81 } },
		.pci = { 0x2322 /* H800 PCIe */, 0x2324 /* H800 SXM5 */, 0x2330 /* SXM5 */, 0x2331 /* PCIe */ },
	},
	{
		WITH_MIG("H100-94GB", 8, 7, h100_94gb),
		.label = "H100 NVL",
		.product = "NVIDIA H100 NVL",
		.called = { { "H100", 92, 95 }, { "H800", 92, 95 } },
		.pci = { 0x2321 /* NVL */, 0x233a /* H800 NVL */ },
	},
	{
		WITH_MIG("H100-96GB-GH200", 8, 7, gh200_96gb),
		.label = "GH200 (96 GB)",
		.product = "NVIDIA GH200 480GB",
		.memory_mib = 97871,
		.called = { { "GH200", 94, 97 }, { "H100", 95, 97 } },
		.pci = { 0x20b6 /* PG506 */, 0x233d /* H100 SXM5 96GB */, 0x2342 /* GH200 */ },
	},
	{
		WITH_MIG("H20-96GB", 8, 7, h20),
		.label = "H20",
		.product = "NVIDIA H20",
		.memory_mib = 97871,
		.compute_units = 78,
		.called = { { "H20", 94, 97 } },
		.pci = { 0x2329 },
	},
	{
		WITH_MIG("H200-141GB", 8, 7, h200),
		.label = "H200",
		.product = "NVIDIA H200",
		.memory_mib = 143771,
		.called = { { "H200", 138, 142 } },
		.pci = { 0x2335 /* SXM5 */, 0x233b /* NVL */ },
	},
	{
		WITH_MIG("GH200-144GB", 8, 7, gh200_144gb),
		.label = "GH200 (144 GB)",
		.product = "NVIDIA GH200 144G HBM3e",
		.memory_mib = 146831,
		.called = { { "GH200", 140, 146 } },
		.pci = { 0x2348 },
	},
	{
		WITH_MIG("B200-180GB", 8, 7, b200),
		.label = "B200",
		.product = "NVIDIA B200",
		.called = { { "B200", 177, 181 } },
		.pci = { 0x2901 },
	},
	{
		WITH_MIG("GB200", 8, 7, gb200),
		.product = "NVIDIA GB200",
		.memory_mib = 189471,
		.called = { { "GB200", 182, 188 } },
		.pci = { 0x2941 },
	},
	{
		WITH_MIG("B300", 8, 7, b300),
		.product = "NVIDIA B300 SXM6 AC",
		.memory_mib = 275040,
		.called = { { "B300", 266, 272 } },
		.pci = { 0x3182 },
	},
	{
		WITH_MIG("GB300", 8, 7, gb300),
		.product = "NVIDIA GB300",
		.memory_mib = 284208,
		.called = { { "GB300", 274, 280 } },
		.pci = { 0x31c2 },
	},
	{
		WITH_MIG("RTX-PRO-6000-Blackwell-96GB", 12, 4, rtx_pro_6000),
		.label = "RTX PRO 6000",
		.product = "NVIDIA RTX PRO 6000 Blackwell Server Edition",
		.called = { { "RTX PRO 6000 Blackwell", 93, 98 } },
		.pci = { 0x2bb5 /* Server Edition */ },
	},

	/* The placements follow from the numbers of instances in NVIDIA's guide. */
	{
		WITH_MIG("RTX-PRO-5000-Blackwell-48GB", 2, 2, rtx_pro_5000),
		.label = "RTX PRO 5000",
		.product = "NVIDIA RTX PRO 5000 Blackwell",
		.memory_mib = 48935,
		/* Its PCI id, 2BB3, is that of the product with 72 GB too. */
		.called = { { "RTX PRO 5000 Blackwell", 46, 50 } },
	},
	{
		WITH_MIG("RTX-PRO-4500-Blackwell-32GB", 2, 2, rtx_pro_4500),
		.label = "RTX PRO 4500",
		.product = "NVIDIA RTX PRO 4500 Blackwell",
		.memory_mib = 32623,
		.called = { { "RTX PRO 4500 Blackwell", 30, 33 } },
		.pci = { 0x2c31, 0x2c3a /* Server Edition */ },
	},

	/* With MIG, but without a table of profiles here: the guide gives no numbers for
	 * the integrated GPU, which has no memory of its own. */
	{ GPU("Thor"), .product = "NVIDIA Thor", .has_mig = true },

	/* Without MIG. */
	{
		GPU("V100"),
		.label = "V100 (16 GB)",
		.product = "Tesla V100-SXM2-16GB",
		.memory_mib = 16384,
		.compute_units = 80,
	},
	{ GPU("V100-32GB"), .label = "V100 (32 GB)", .selector = "V100" },
	{
		GPU("T4"),
		.selector = "Tesla T4",
		.product = "Tesla T4",
		.memory_mib = 15360,
		.compute_units = 40,
	},
	{ GPU("T4G") },
	{ GPU("A10G") },
	{
		GPU("L4"),
		.selector = "NVIDIA L4",
		.product = "NVIDIA L4",
		.memory_mib = 23034,
		.compute_units = 58,
		.vf_framework = CLV_VF_VFIO,
	},
	{
		GPU("L40S"),
		.product = "NVIDIA L40S",
		.memory_mib = 46068,
		.compute_units = 142,
		.vf_framework = CLV_VF_VFIO,
	},
	{ GPU("DGX Display"), .pci = { 0x1fb0 } }, /* of a DGX Station A100 */
};
/* clang-format on */

const size_t clv_n_gpus_nvidia = sizeof(clv_gpus_nvidia) / sizeof(clv_gpus_nvidia[0]);
