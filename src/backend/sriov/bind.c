/* SPDX-License-Identifier: Apache-2.0 */
/* Binds a virtual function to a driver with driver_override and drivers_probe, which
 * affects no other device with the same ids.  For VFIO no member of the function's IOMMU
 * group may be bound to a driver of the host, or the kernel refuses the group. */
#include "backend/sriov/sriov.h"

#include "backend/command.h"
#include "backend/files.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define VF "bus/pci/devices/%s/"
#define PCI_BRIDGE 0x0604u

static bool is_vfio(const char *driver)
{
	return strstr(driver, "vfio") != NULL;
}

/* True if the driver does not prevent VFIO from using the group: bridges and pci-stub do
 * no DMA of their own. */
static bool is_harmless(const struct clv_pci *pci)
{
	return pci->driver[0] == '\0' || is_vfio(pci->driver) ||
	       strcmp(pci->driver, "pci-stub") == 0 || pci->class == PCI_BRIDGE;
}

static int check_group(const char *vf_address, const char *what, struct clv_error *err)
{
	_cleanup_names_ struct clv_names members = {0};
	char others[200] = "", group[16];
	size_t used = 0;

	if (clv_file_link(group, sizeof(group), VF "iommu_group", vf_address) < 0)
		return clv_error_set(err, -ENOTSUP,
			"%s: the function is in no IOMMU group: turn the IOMMU on in the "
			"firmware's set-up and with intel_iommu=on or amd_iommu=on",
			what);
	if (clv_file_list(&members, VF "iommu_group/devices", vf_address) < 0)
		members.n = 0;
	for (size_t i = 0; i < members.n && used < sizeof(others); i++) {
		struct clv_pci pci;

		if (strcmp(members.items[i], vf_address) == 0 ||
			clv_pci_read(members.items[i], &pci) < 0 || is_harmless(&pci))
			continue;
		used += (size_t)snprintf(others + used, sizeof(others) - used,
			"%s%s (%s)", used > 0 ? ", " : "", pci.address, pci.driver);
	}
	if (used == 0)
		return 0;
	return clv_error_set(err, -EBUSY,
		"%s: its IOMMU group %s also holds %s: a virtual machine must get the "
		"whole group, so unbind them, or put the GPU into another slot",
		what, group, others);
}

static bool is_name(const char *driver)
{
	for (const char *c = driver; *c; c++) {
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
			return false;
	}
	return driver[0] != '\0' && driver[0] != '-';
}

static int load_driver(const char *driver, const char *what, struct clv_error *err)
{
	const char *const argv[] = {"modprobe", driver, NULL};
	char said[160];

	if (!is_name(driver))
		return clv_error_set(
			err, -EINVAL, "%s: '%s' is not a name of a driver", what, driver);
	if (clv_file_exists("bus/pci/drivers/%s", driver))
		return 0;
	if (clv_command_run(argv, said, sizeof(said)) == 0 &&
		clv_file_exists("bus/pci/drivers/%s", driver))
		return 0;
	return clv_error_set(err, -ENODEV,
		"%s: there is no driver %s and modprobe %s does not load it%s%s", what,
		driver, driver, said[0] != '\0' ? ": " : "", said);
}

/* Removes the override and lets the bus bind the default driver again. */
static void restore_default_driver(const char *vf_address)
{
	clv_file_write("\n", VF "driver_override", vf_address);
	clv_file_write(vf_address, "bus/pci/drivers_probe");
}

static int rebind(const char *vf_address, const char *driver, const char *what,
	struct clv_error *err)
{
	char now[24];
	int r = clv_file_write(driver, VF "driver_override", vf_address);

	if (r < 0)
		return clv_file_error(err, -r, "%s: driver_override", what);
	if (clv_file_exists(VF "driver", vf_address))
		r = clv_file_write(vf_address, VF "driver/unbind", vf_address);
	if (r == 0)
		r = clv_file_write(vf_address, "bus/pci/drivers_probe");
	if (r == 0 && clv_file_link(now, sizeof(now), VF "driver", vf_address) == 0 &&
		strcmp(now, driver) == 0)
		return 0;
	restore_default_driver(vf_address);
	if (r < 0)
		return clv_file_error(err, -r, "%s: drivers_probe", what);
	return clv_error_set(
		err, -EIO, "%s: the driver %s does not bind it: see dmesg", what, driver);
}

int clv_sriov_bind(const struct clv_node_device *device, const char *vf_address,
	const char *driver, const char *what, struct clv_error *err)
{
	char now[24];
	int r;

	if (clv_file_link(now, sizeof(now), VF "driver", vf_address) == 0 &&
		strcmp(now, driver) == 0)
		return 0;
	/* NVIDIA's driver registers a function with VFIO only when the functions are
	 * created, so an unbound function would be unusable until all are created again.
	 */
	if (device->vf.framework == CLV_VF_VFIO)
		return clv_error_set(err, -ENOTSUP,
			"%s: a function of NVIDIA's vGPU stays with its driver: give "
			"it a vGPU type, and pass the function to the virtual machine",
			what);
	r = load_driver(driver, what, err);
	if (r == 0 && is_vfio(driver))
		r = check_group(vf_address, what, err);
	return r < 0 ? r : rebind(vf_address, driver, what, err);
}
