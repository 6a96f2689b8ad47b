/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a virtual function: its address, driver, IOMMU group and users.  A virtual
 * machine is detected by the open files of its process: the VFIO group, or with IOMMUFD
 * the function's own VFIO device. */
#include "backend/sriov/sriov.h"

#include "backend/files.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VF "bus/pci/devices/%s/"

int clv_sriov_address(
	const char *pf_address, uint32_t number, char ret[CLV_PCI_ADDRESS_MAX])
{
	return clv_file_link(ret, CLV_PCI_ADDRESS_MAX, "bus/pci/devices/%s/virtfn%u",
		       pf_address, number - 1) < 0
		       ? -ENODEV
		       : 0;
}

uint32_t clv_sriov_count(const char *pf_address)
{
	uint64_t count;

	if (clv_file_read_number(&count, "bus/pci/devices/%s/sriov_numvfs", pf_address) <
		0)
		return 0;
	return count <= CLV_SRIOV_MAX ? (uint32_t)count : 0;
}

int clv_sriov_find_openers(struct clv_openers *ret)
{
	static const char *const prefixes[] = {"/dev/vfio/", "/dev/dri/renderD"};

	return clv_openers_find(prefixes, CLV_ARRAY_SIZE(prefixes), ret);
}

int clv_sriov_add_function(struct clv_vf_state *state, const struct clv_vf *vf)
{
	struct clv_vf *added = CLV_APPEND(state->items, state->n);

	if (!added)
		return -ENOMEM;
	*added = *vf;
	return 0;
}

static void read_group(struct clv_vf *vf)
{
	_cleanup_names_ struct clv_names members = {0};
	char name[16];

	vf->iommu_group = -1;
	if (clv_file_link(name, sizeof(name), VF "iommu_group", vf->address) < 0)
		return;
	vf->iommu_group = (int32_t)strtol(name, NULL, 10);
	if (clv_file_list(&members, VF "iommu_group/devices", vf->address) == 0 &&
		members.n > 0)
		vf->n_group_others = (uint32_t)members.n - 1;
}

/* Adds the processes that have the VFIO group of a device or mdev open. */
static int add_openers_of_group(const struct clv_openers *openers, const char *folder,
	struct clv_holders *holders)
{
	char group[16], path[32];

	if (clv_file_link(group, sizeof(group), "%s/iommu_group", folder) < 0)
		return 0;
	snprintf(path, sizeof(path), "/dev/vfio/%s", group);
	return clv_openers_add_holders(openers, path, holders);
}

/* Adds the processes that have a file open whose path is prefix and an entry of the
 * folder.
 */
static int add_openers_of_entries(const struct clv_openers *openers, const char *folder,
	const char *prefix, struct clv_holders *holders)
{
	_cleanup_names_ struct clv_names names = {0};
	int r = 0;

	if (clv_file_list(&names, "%s", folder) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s%s", prefix, names.items[i]);
		r = clv_openers_add_holders(openers, path, holders);
	}
	return r;
}

static int add_openers_of_vfio(const struct clv_openers *openers, const char *folder,
	struct clv_holders *holders)
{
	char devices[128];
	int r = add_openers_of_group(openers, folder, holders);

	snprintf(devices, sizeof(devices), "%.100s/vfio-dev", folder);
	return r < 0 ? r
		     : add_openers_of_entries(
			       openers, devices, "/dev/vfio/devices/", holders);
}

/* A vGPU counts as a user of its function, because it must be removed explicitly. */
static int add_vgpu(const char *type, const char *mdev, struct clv_holders *holders)
{
	char text[80];

	if (type[0] == '\0')
		return 0;
	if (mdev[0] != '\0')
		snprintf(text, sizeof(text), "vGPU %.30s, mdev %s", type, mdev);
	else
		snprintf(text, sizeof(text), "vGPU %s", type);
	return clv_holders_add_text(holders, text);
}

/* Adds only processes, those of the function and of its mdev. */
static int add_processes(const struct clv_openers *openers, const char *address,
	const char *mdev, struct clv_holders *holders)
{
	char folder[96];
	int r;

	snprintf(folder, sizeof(folder), "bus/pci/devices/%s", address);
	r = add_openers_of_vfio(openers, folder, holders);
	if (r == 0 && mdev[0] != '\0') {
		snprintf(folder, sizeof(folder), "bus/pci/devices/%s/%s", address, mdev);
		r = add_openers_of_vfio(openers, folder, holders);
	}
	snprintf(folder, sizeof(folder), "bus/pci/devices/%s/drm", address);
	return r < 0 ? r : add_openers_of_entries(openers, folder, "/dev/dri/", holders);
}

int clv_sriov_find_machine(
	const struct clv_openers *openers, const char *address, struct clv_holders *ret)
{
	return add_processes(openers, address, "", ret);
}

int clv_sriov_find_users(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, const char *vf_address,
	const struct clv_openers *openers, enum clv_sriov_users which,
	struct clv_holders *ret)
{
	char type[48], mdev[40];
	int r = 0;

	clv_sriov_read_type(backend, device->vf.framework, vf_address, type, mdev);
	if (which == CLV_SRIOV_ALL_USERS)
		r = add_vgpu(type, mdev, ret);
	return r < 0 ? r : add_processes(openers, vf_address, mdev, ret);
}

int clv_sriov_read_function(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, const struct clv_openers *openers,
	struct clv_vf *vf)
{
	char mdev[40];
	int r = clv_sriov_address(device->pci_address, vf->number, vf->address);

	if (r < 0)
		return r;
	if (clv_file_link(vf->driver, sizeof(vf->driver), VF "driver", vf->address) < 0)
		vf->driver[0] = '\0';
	snprintf(vf->quota.driver, sizeof(vf->quota.driver), "%s", vf->driver);
	read_group(vf);
	clv_sriov_read_quota(device, vf->number, &vf->quota);
	clv_sriov_read_type(
		backend, device->vf.framework, vf->address, vf->quota.type, mdev);
	/* A vGPU that no virtual machine uses is not a holder: a plan may remove it. */
	return clv_sriov_find_users(
		backend, device, vf->address, openers, CLV_SRIOV_PROCESSES, &vf->holders);
}

int clv_sriov_check_unused(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, uint32_t number, enum clv_sriov_users which,
	const char *what, struct clv_error *err)
{
	_cleanup_openers_ struct clv_openers openers = {0};
	struct clv_holders holders = {0};
	char address[CLV_PCI_ADDRESS_MAX], who[200];
	int r = clv_sriov_address(device->pci_address, number, address);

	if (r < 0)
		return 0; /* a function that does not exist has no users */
	r = clv_sriov_find_openers(&openers);
	if (r == 0)
		r = clv_sriov_find_users(
			backend, device, address, &openers, which, &holders);
	clv_holders_describe(&holders, who, sizeof(who));
	free(holders.items);
	if (r < 0)
		return clv_error_errno(err, -r, "%s: cannot find its users", what);
	if (who[0] != '\0')
		return clv_error_set(err, -EBUSY, "%s: function %u (%s) is used by %s",
			what, number, address, who);
	return 0;
}
