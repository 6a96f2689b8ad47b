/* SPDX-License-Identifier: Apache-2.0 */
/* Detects the driver framework of a device's functions, and finds NVIDIA's sriov-manage.
 */
#include "backend/sriov/sriov.h"

#include "backend/files.h"
#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PF "bus/pci/devices/%s/"

static enum clv_vf_framework detect_nvidia(const struct clv_pci *pci)
{
	if (clv_file_exists(PF "virtfn0/nvidia/creatable_vgpu_types", pci->address))
		return CLV_VF_VFIO;
	if (clv_file_exists(PF "virtfn0/mdev_supported_types", pci->address) ||
		clv_file_exists(PF "mdev_supported_types", pci->address))
		return CLV_VF_MDEV;
	/* Without functions the loaded mdev module indicates the older framework. */
	return clv_file_exists("class/mdev_bus") ? CLV_VF_MDEV : CLV_VF_VFIO;
}

static bool has_i915_iov(const char *address)
{
	_cleanup_names_ struct clv_names cards = {0};

	if (clv_file_list(&cards, PF "drm", address) < 0)
		return false;
	for (size_t i = 0; i < cards.n; i++) {
		if (clv_file_exists(PF "drm/%s/iov", address, cards.items[i]) ||
			clv_file_exists(PF "drm/%s/prelim_iov", address, cards.items[i]))
			return true;
	}
	return false;
}

enum clv_vf_framework clv_sriov_detect(const struct clv_pci *pci)
{
	if (pci->vendor == CLV_PCI_VENDOR_NVIDIA && clv_pci_is_gpu(pci))
		return detect_nvidia(pci);
	if (clv_file_exists(PF "sriov_admin", pci->address) ||
		strcmp(pci->driver, "xe") == 0)
		return CLV_VF_XE;
	return has_i915_iov(pci->address) ? CLV_VF_I915 : CLV_VF_PLAIN;
}

/* NVIDIA's own path first, then PATH. */
const char *clv_sriov_manage(void)
{
	static char found[256];
	_cleanup_free_ char *folders = NULL;
	const char *path = getenv("PATH");
	char *rest = NULL;

	snprintf(found, sizeof(found), "/usr/lib/nvidia/sriov-manage");
	if (access(found, X_OK) == 0)
		return found;
	folders = strdup(path ? path : "");
	for (char *folder = folders ? strtok_r(folders, ":", &rest) : NULL; folder;
		folder = strtok_r(NULL, ":", &rest)) {
		snprintf(found, sizeof(found), "%.200s/sriov-manage", folder);
		if (access(found, X_OK) == 0)
			return found;
	}
	return NULL;
}
