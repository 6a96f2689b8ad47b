/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/libvirt/domain/group.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The last name of what the link points to; "": there is none. */
static void read_link(const char *path, char ret[NAME_MAX])
{
	char target[PATH_MAX] = "";
	const char *slash;

	if (readlink(path, target, sizeof(target) - 1) < 0)
		target[0] = '\0';
	slash = strrchr(target, '/');
	snprintf(ret, NAME_MAX, "%s", slash ? slash + 1 : target);
}

/* Ports of bridges stay with theirs, which gives nothing to programs. */
static bool is_in_the_way(const char *driver)
{
	static const char *const harmless[] = {"", "vfio-pci", "pci-stub", "pcieport"};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(harmless); i++) {
		if (strcmp(driver, harmless[i]) == 0)
			return false;
	}
	return true;
}

static int check_other(
	const char *group, const char *address, const char *other, struct clv_error *err)
{
	char path[PATH_MAX], driver[NAME_MAX];

	if (other[0] == '.' || strcmp(other, address) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/%s/driver", group, other);
	read_link(path, driver);
	if (!is_in_the_way(driver))
		return 0;
	return clv_error_set(err, -ENOTSUP,
		"%.20s, which has the driver %.40s, is in the IOMMU group of %.20s: bind "
		"it to vfio-pci, as with driverctl set-override %.20s vfio-pci",
		other, driver, address, other);
}

static int check_members(const char *group, const char *address, struct clv_error *err)
{
	DIR *folder = opendir(group);
	struct dirent *entry;
	int r = 0;

	while (folder && r >= 0 && (entry = readdir(folder)))
		r = check_other(group, address, entry->d_name, err);
	if (folder)
		closedir(folder);
	return r;
}

int clv_vm_check_group(const char *sysfs, const char *address, struct clv_error *err)
{
	char folder[512], group[PATH_MAX];

	snprintf(folder, sizeof(folder), "%.200s/bus/pci/devices/%.40s", sysfs, address);
	if (access(folder, F_OK) < 0)
		return 0;
	snprintf(group, sizeof(group), "%s/iommu_group/devices", folder);
	if (access(group, F_OK) < 0)
		return clv_error_set(err, -ENOTSUP,
			"%.20s is in no IOMMU group: turn the IOMMU on in the firmware "
			"and the kernel",
			address);
	return check_members(group, address, err);
}
