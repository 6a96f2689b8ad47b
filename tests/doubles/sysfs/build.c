/* SPDX-License-Identifier: Apache-2.0 */
#include "amd.h"
#include "driver.h"
#include "nvidia.h"
#include "pci.h"
#include "readings.h"
#include "tree.h"
#include "world.h"

/* Builds the whole tree from the whole world. */

static const char *const always_there[] = {"/bus/pci/devices", "/bus/pci/drivers",
	"/bus/platform/devices", "/class/drm", "/devices/platform",
	"/kernel/iommu_groups", "/module"};

void sy_tree_build(void)
{
	sy_tree_clear();
	for (size_t i = 0; i < SY_COUNT(always_there); i++)
		sy_make("%s", always_there[i]);
	sy_drivers_build();
	for (struct sy_function *f = NULL; (f = sy_next(f));) {
		struct sy_node *dir;

		if (!f->is_present)
			continue;
		dir = sy_pci_build(f);
		if (sy_is_native(f))
			f->family->build(f, dir);
		sy_readings_build(f, dir);
		for (size_t i = 0; i < f->n_absent; i++)
			sy_remove(dir, f->absent[i]);
	}
	sy_kfd_build();
	sy_mdev_build();
	sy_world.has_changed = false;
}
