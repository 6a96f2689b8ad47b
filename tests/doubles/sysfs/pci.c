/* SPDX-License-Identifier: Apache-2.0 */
#include "pci.h"
#include "driver.h"
#include "sriov.h"
#include "tree.h"
#include "world.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The files of every PCI function, after drivers/pci/pci-sysfs.c, its IOMMU group and the
 * nodes of DRM. Bridges are left out: the root bus has the number of the GPU's bus. */

#define DRM_MAJOR 226

const char *sy_pci_path(struct sy_function *f)
{
	static char path[64];

	sy_print(path, sizeof(path), "/devices/pci%04x:%02x/%s", f->domain, sy_pf(f)->bus,
		f->bdf);
	return path;
}

static int uevent_show(struct sy_node *node, struct sy_text *ret)
{
	const struct sy_function *f = node->f;
	unsigned vendor = (unsigned)f->vendor, device = (unsigned)f->device,
		 class = (unsigned)f->class,
		 subsystem_vendor = (unsigned)f->subsystem_vendor,
		 subsystem_device = (unsigned)f->subsystem_device;

	if (f->driver[0])
		sy_add(ret, "DRIVER=%s\n", f->driver);
	sy_add(ret, "PCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\n", class,
		vendor, device, subsystem_vendor, subsystem_device);
	sy_add(ret,
		"PCI_SLOT_NAME=%s\nMODALIAS=pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%"
		"02X\n",
		f->bdf, vendor, device, subsystem_vendor, subsystem_device, class >> 16,
		class >> 8 & 0xff, class & 0xff);
	return 0;
}

static int uevent_store(struct sy_node *node, const char *text)
{
	return 0;
}

static int reset_store(struct sy_node *node, const char *text)
{
	uint64_t value;
	int r = sy_parse(text, UINT64_MAX, &value);

	if (r < 0 || value != 1)
		return -EINVAL;
	if (node->f->family->reset)
		node->f->family->reset(node->f);
	return 0;
}

static const struct sy_attribute files[] = {
	{"uevent", 0644, uevent_show, uevent_store, 0},
	{"reset", 0200, NULL, reset_store, 0},
};

static void build_ids(struct sy_function *f, struct sy_node *dir)
{
	sy_fixed(dir, "vendor", "0x%04" PRIx64 "\n", f->vendor);
	sy_fixed(dir, "device", "0x%04" PRIx64 "\n", f->device);
	sy_fixed(dir, "class", "0x%06" PRIx64 "\n", f->class);
	sy_fixed(dir, "revision", "0x00\n");
	sy_fixed(dir, "subsystem_vendor", "0x%04" PRIx64 "\n", f->subsystem_vendor);
	sy_fixed(dir, "subsystem_device", "0x%04" PRIx64 "\n", f->subsystem_device);
	sy_fixed(dir, "numa_node", "%s\n", f->numa_node);
}

static void build_group(struct sy_function *f, struct sy_node *dir)
{
	struct sy_node *group = sy_make("/kernel/iommu_groups/%" PRIu64, f->group);

	sy_link(dir, "iommu_group", "/kernel/iommu_groups/%" PRIu64, f->group);
	if (!group->first)
		sy_fixed(group, "type", "DMA-FQ\n");
	sy_link(sy_dir(group, "devices"), f->bdf, "%s", sy_pci_path(f));
}

static void build_vfio(struct sy_function *f, struct sy_node *dir)
{
	const struct sy_driver *driver = sy_driver_find(f->driver);
	char name[32];

	if (!driver || !driver->is_vfio)
		return;
	sy_print(name, sizeof(name), "vfio%" PRIu64, f->group);
	sy_dir(sy_dir(dir, "vfio-dev"), name);
}

struct sy_node *sy_pci_build(struct sy_function *f)
{
	struct sy_node *dir = sy_make("%s", sy_pci_path(f));

	build_ids(f, dir);
	sy_files(dir, files, SY_COUNT(files), f);
	sy_link(dir, "subsystem", "/bus/pci");
	sy_link(sy_make("/bus/pci/devices"), f->bdf, "%s", sy_pci_path(f));
	sy_driver_files(f, dir);
	build_group(f, dir);
	build_vfio(f, dir);
	sy_sriov_files(f, dir);
	return dir;
}

static struct sy_node *build_minor(
	struct sy_node *dir, const char *device, const char *kind, unsigned minor)
{
	struct sy_node *node;
	char name[32];

	sy_print(name, sizeof(name), "%s%u", kind, minor);
	node = sy_dir(sy_dir(dir, "drm"), name);
	sy_fixed(node, "dev", "%d:%u\n", DRM_MAJOR, minor);
	sy_fixed(node, "uevent",
		"MAJOR=%d\nMINOR=%u\nDEVNAME=dri/%s\nDEVTYPE=drm_minor\n", DRM_MAJOR,
		minor, name);
	sy_link(node, "device", "%s", device);
	sy_link(node, "subsystem", "/class/drm");
	sy_link(sy_make("/class/drm"), name, "%s/drm/%s", device, name);
	return node;
}

struct sy_node *sy_drm_build(struct sy_function *f, struct sy_node *dir, unsigned number)
{
	char device[256];

	sy_path(dir, device, sizeof(device));
	build_minor(dir, device, "renderD", f->render + number);
	return build_minor(dir, device, "card", f->card + number);
}

/* Any other function: a bridge, a sound device, a card of another vendor. */
static bool find_none(struct sy_function *f, const char *model)
{
	return false;
}

static void build_none(struct sy_function *f, struct sy_node *dir)
{
}

const struct sy_family sy_family_none = {
	.name = "none",
	.find_model = find_none,
	.build = build_none,
};
