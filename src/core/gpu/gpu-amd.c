/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's GPUs that can be partitioned.  core/gpu/xcp.h names the sources of the modes and
 * of the pairs that AMD has validated; tests/core compares them with the collected facts.
 * PCI ids identify GPUs whose driver reports no product name. */
#include "core/gpu/gpu-internal.h"

#define GPU(text) .name = text, .vendor = CLV_GPU_AMD, .product = "AMD Instinct " text

/* Dies, how many of them are on one I/O die, compute units of all dies, GB, supported
 * memory modes; then the memory modes for each compute mode that AMD has validated, and
 * others that its overview names. */
#define XCP(text, dies, per_io_die, units, gb, modes, ...)            \
	.xcp = &(const struct clv_xcp_model)                          \
	{                                                             \
		text, dies, per_io_die, units, gb, modes, __VA_ARGS__ \
	}

/* clang-format off */
const struct clv_gpu clv_gpus_amd[] = {
	{
		GPU("MI300X"),
		XCP("MI300X", 8, 2, 304, 192, CLV_NPS1 | CLV_NPS2 | CLV_NPS4,
			{ [CLV_SPX] = CLV_NPS1, [CLV_DPX] = CLV_NPS2, [CLV_CPX] = CLV_NPS4 },
			{ [CLV_CPX] = CLV_NPS1 }),
		.pci = { 0x74a1, 0x74a9 /* HF */ },
		.virtual_pci = { 0x74b5, 0x74bd /* HF */ },
	},
	{
		GPU("MI325X"),
		XCP("MI325X", 8, 2, 304, 256, CLV_NPS1 | CLV_NPS4,
			{ [CLV_SPX] = CLV_NPS1 }),
		.pci = { 0x74a5 },
		.virtual_pci = { 0x74b9 },
	},
	/* AMD's partitioning page does not list this model, and no page says where on its
	 * I/O dies the dies are. */
	{
		GPU("MI308X"),
		XCP("MI308X", 4, 0, 80, 192, CLV_NPS1,
			{0}),
		.pci = { 0x74a2, 0x74a8 /* HF */ },
		.virtual_pci = { 0x74b6, 0x74bc /* HF */ },
	},
	{
		GPU("MI300A"),
		XCP("MI300A", 6, 2, 228, 128, CLV_NPS1,
			{ [CLV_SPX] = CLV_NPS1 }),
		.pci = { 0x74a0 },
	},
	{
		GPU("MI350X"),
		XCP("MI350X", 8, 4, 256, 288, CLV_NPS1 | CLV_NPS2,
			{ [CLV_SPX] = CLV_NPS1, [CLV_DPX] = CLV_NPS2 }),
		.pci = { 0x75a0 },
		.virtual_pci = { 0x75b0 },
	},
	{
		GPU("MI355X"),
		XCP("MI355X", 8, 4, 256, 288, CLV_NPS1 | CLV_NPS2,
			{ [CLV_SPX] = CLV_NPS1, [CLV_DPX] = CLV_NPS2 }),
		.pci = { 0x75a3 },
		.virtual_pci = { 0x75b3 },
	},
};
/* clang-format on */

const size_t clv_n_gpus_amd = sizeof(clv_gpus_amd) / sizeof(clv_gpus_amd[0]);
