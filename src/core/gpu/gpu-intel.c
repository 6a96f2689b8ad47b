/* SPDX-License-Identifier: Apache-2.0 */
/* Intel's GPUs with virtual functions.  Their driver reports no product name and, in some
 * versions, no memory size.  vf_total is for simulated GPUs only; the driver reports it
 * as sriov_totalvfs.
 *
 * Sources.  PCI ids: include/drm/intel/pciids.h of Linux (INTEL_ATS_M150_IDS,
 * INTEL_ATS_M75_IDS, INTEL_PVC_IDS, INTEL_BMG_IDS).  Their products, and the memory of
 * the Max series: the tables of intel-resource-drivers-for-kubernetes (56c0, 56c1, 0b69
 * to 0bdb, e211) and the list of PCI ids (e212).  A Flex 140 is two GPUs on one card; the
 * memory is that of one.  Number of functions: the same resource drivers. */
#include "core/gpu/gpu-internal.h"

#define GPU(text, title) .name = text, .vendor = CLV_GPU_INTEL, .pci_name = title

/* clang-format off */
const struct clv_gpu clv_gpus_intel[] = {
	{
		GPU("Flex 170", "Intel Data Center GPU Flex 170"),
		.product = "Intel Data Center GPU Flex 170",
		.memory_mib = 16256,
		.memory_gib = 16,
		.compute_units = 512,
		.vf_total = 16,
		.vf_framework = CLV_VF_I915,
		.pci = { 0x56c0 },
	},
	{
		GPU("Arc Pro B60", "Intel Arc Pro B60"),
		.product = "Intel Arc Pro B60 Graphics",
		.memory_mib = 24480,
		.memory_gib = 24,
		.compute_units = 160,
		.vf_total = 16,
		.vf_framework = CLV_VF_XE,
		.pci = { 0xe211 },
	},
	{ GPU("Arc Pro B50", "Intel Arc Pro B50"), .memory_gib = 16, .pci = { 0xe212 } },
	{ GPU("Flex 140", "Intel Data Center GPU Flex 140"), .memory_gib = 6, .pci = { 0x56c1 } },
	{ GPU("Max 1450", "Intel Data Center GPU Max 1450"), .memory_gib = 128, .pci = { 0x0b69 } },
	{
		GPU("Max 1550", "Intel Data Center GPU Max 1550"),
		.memory_gib = 128,
		.pci = { 0x0bd5, 0x0bd6 },
	},
	{
		GPU("Max 1100", "Intel Data Center GPU Max 1100"),
		.memory_gib = 48,
		.pci = { 0x0bd9, 0x0bda, 0x0bdb },
	},
};
/* clang-format on */

const size_t clv_n_gpus_intel = sizeof(clv_gpus_intel) / sizeof(clv_gpus_intel[0]);
