/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/pci-driver.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool clv_pci_is_passed(const char *address)
{
	char path[96], driver[256];
	const char *name;
	ssize_t n;

	if (address[0] == '\0' || strchr(address, '/'))
		return false;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.40s/driver", address);
	n = readlink(path, driver, sizeof(driver) - 1);
	if (n < 0)
		return false;
	driver[n] = '\0';
	/* vfio-pci, and those of vendors, such as mlx5_vfio_pci. */
	name = strrchr(driver, '/');
	return strstr(name ? name : driver, "vfio") != NULL;
}
