/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs with virtual functions whose driver says neither what they are called nor, in
 * every version, how much memory they have.  How many functions each can have is no part
 * of it: sriov_totalvfs says that. */
#include "backend/pci.h"

#include "base/cleanup.h"

/* Source of the numbers: include/drm/intel/pciids.h of Linux (INTEL_ATS_M150_IDS,
 * INTEL_ATS_M75_IDS, INTEL_PVC_IDS, INTEL_BMG_IDS); of which product each is, and of the
 * memory of the Max series: the tables of intel-resource-drivers-for-kubernetes (56c0,
 * 56c1, 0b69 to 0bdb, e211) and the list of PCI ids (e212).  A Flex 140 is two GPUs on
 * one card; the memory is that of one. */
/* clang-format off */
static const struct clv_pci_product products[] = {
	{ CLV_PCI_VENDOR_INTEL, 0x56c0, "Intel Data Center GPU Flex 170",  16 },
	{ CLV_PCI_VENDOR_INTEL, 0x56c1, "Intel Data Center GPU Flex 140",   6 },
	{ CLV_PCI_VENDOR_INTEL, 0x0b69, "Intel Data Center GPU Max 1450", 128 },
	{ CLV_PCI_VENDOR_INTEL, 0x0bd5, "Intel Data Center GPU Max 1550", 128 },
	{ CLV_PCI_VENDOR_INTEL, 0x0bd6, "Intel Data Center GPU Max 1550", 128 },
	{ CLV_PCI_VENDOR_INTEL, 0x0bd9, "Intel Data Center GPU Max 1100",  48 },
	{ CLV_PCI_VENDOR_INTEL, 0x0bda, "Intel Data Center GPU Max 1100",  48 },
	{ CLV_PCI_VENDOR_INTEL, 0x0bdb, "Intel Data Center GPU Max 1100",  48 },
	{ CLV_PCI_VENDOR_INTEL, 0xe211, "Intel Arc Pro B60",               24 },
	{ CLV_PCI_VENDOR_INTEL, 0xe212, "Intel Arc Pro B50",               16 },
};
/* clang-format on */

const struct clv_pci_product *clv_pci_product(const struct clv_pci *pci)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(products); i++) {
		if (products[i].vendor == pci->vendor &&
			products[i].device == pci->device)
			return &products[i];
	}
	return NULL;
}
