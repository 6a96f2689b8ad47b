/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes that every PCI function has in sysfs, independent of its driver. */
#include "backend/pci.h"

#include "backend/files.h"
#include "base/cleanup.h"
#include "core/gpu/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static const struct {
	uint32_t id;
	const char *name;  /* in selectors of devices */
	const char *title; /* in names of models */
} vendors[] = {
	{CLV_PCI_VENDOR_AMD, "amd", "AMD"},
	{CLV_PCI_VENDOR_NVIDIA, "nvidia", "NVIDIA"},
	{CLV_PCI_VENDOR_INTEL, "intel", "Intel"},
};

static const char *const name_lists[] = {
	"/usr/share/misc/pci.ids",
	"/usr/share/hwdata/pci.ids",
};

int clv_pci_read(const char *address, struct clv_pci *ret)
{
	struct clv_pci pci = {.numa_node = -1};
	uint64_t vendor, device, class;
	char numa_node[16];

	if (strlen(address) >= sizeof(pci.address) ||
		clv_file_read_number(&vendor, "bus/pci/devices/%s/vendor", address) < 0 ||
		clv_file_read_number(&device, "bus/pci/devices/%s/device", address) < 0 ||
		clv_file_read_number(&class, "bus/pci/devices/%s/class", address) < 0)
		return -ENODEV;
	snprintf(pci.address, sizeof(pci.address), "%s", address);
	pci.vendor = (uint32_t)vendor;
	pci.device = (uint32_t)device;
	pci.class = (uint32_t) class >> 8;
	if (clv_file_read(numa_node, sizeof(numa_node), "bus/pci/devices/%s/numa_node",
		    address) > 0)
		pci.numa_node = (int32_t)strtol(numa_node, NULL, 10);
	if (clv_file_link(pci.driver, sizeof(pci.driver), "bus/pci/devices/%s/driver",
		    address) < 0)
		pci.driver[0] = '\0';
	pci.is_virtual = clv_file_exists("bus/pci/devices/%s/physfn", address);
	*ret = pci;
	return 0;
}

/* The link's target is "../../../devices/pci0000:3a/0000:3a:01.0/0000:3b:00.0". */
void clv_pci_root(const char *address, char ret[16])
{
	char target[512];
	const char *root, *last;
	size_t length;

	ret[0] = '\0';
	if (address[0] == '\0' || clv_file_target(target, sizeof(target),
					  "bus/pci/devices/%s", address) < 0)
		return;
	root = target + strspn(target, "./");
	last = strrchr(target, '/');
	if (strncmp(root, "devices/pci", 11) != 0 || !last ||
		strcmp(last + 1, address) != 0)
		return;
	root += strlen("devices/");
	length = strcspn(root, "/");
	if (length < 16)
		snprintf(ret, 16, "%.*s", (int)length, root);
}

bool clv_pci_is_gpu(const struct clv_pci *pci)
{
	return pci->class >> 8 == 0x03 || pci->class >> 8 == 0x12;
}

void clv_pci_vendor(const struct clv_pci *pci, char ret[CLV_DEVICE_TEXT_MAX])
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(vendors); i++) {
		if (vendors[i].id == pci->vendor) {
			snprintf(ret, CLV_DEVICE_TEXT_MAX, "%s", vendors[i].name);
			return;
		}
	}
	snprintf(ret, CLV_DEVICE_TEXT_MAX, "%04x", pci->vendor);
}

/* The format of pci.ids: a vendor's line begins with its id, a device's line with a tab
 * and its id. */
static bool find_name(FILE *list, const struct clv_pci *pci, char *ret, size_t ret_bytes)
{
	char line[256], wanted[8];
	bool is_vendor = false;

	snprintf(wanted, sizeof(wanted), "%04x", pci->vendor);
	while (fgets(line, sizeof(line), list)) {
		if (line[0] != '\t' && line[0] != '#' && line[0] != '\n') {
			is_vendor = strncmp(line, wanted, 4) == 0;
			continue;
		}
		if (is_vendor && line[0] == '\t' && line[1] != '\t' &&
			strtoul(line + 1, NULL, 16) == pci->device) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(ret, ret_bytes, "%.*s", (int)ret_bytes - 1,
				line + 1 + strcspn(line + 1, " ") + 2);
			return true;
		}
	}
	return false;
}

const struct clv_gpu *clv_pci_product(const struct clv_pci *pci)
{
	const struct clv_gpu *gpu = NULL;

	if (pci->vendor == CLV_PCI_VENDOR_INTEL)
		gpu = clv_gpu_find_pci(CLV_GPU_INTEL, pci->device, NULL);
	return gpu && gpu->pci_name ? gpu : NULL;
}

void clv_pci_model(const struct clv_pci *pci, char ret[CLV_DEVICE_TEXT_MAX])
{
	const struct clv_gpu *product = clv_pci_product(pci);
	const char *title = "PCI device";

	if (product) {
		snprintf(ret, CLV_DEVICE_TEXT_MAX, "%s", product->pci_name);
		return;
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(name_lists); i++) {
		FILE *list = fopen(name_lists[i], "re");
		bool is_found = list && find_name(list, pci, ret, CLV_DEVICE_TEXT_MAX);

		if (list)
			fclose(list);
		if (is_found)
			return;
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(vendors); i++) {
		if (vendors[i].id == pci->vendor)
			title = vendors[i].title;
	}
	snprintf(ret, CLV_DEVICE_TEXT_MAX, "%s %04x:%04x", title, pci->vendor,
		pci->device);
}

void clv_pci_driver_version(const char *driver, char ret[CLV_DEVICE_TEXT_MAX])
{
	struct utsname kernel;

	ret[0] = '\0';
	if (driver[0] == '\0')
		return;
	if (clv_file_read(ret, CLV_DEVICE_TEXT_MAX, "module/%s/version", driver) > 0)
		return;
	if (uname(&kernel) == 0)
		snprintf(ret, CLV_DEVICE_TEXT_MAX, "%s", kernel.release);
}

static bool is_for_level_zero(const struct clv_pci *pci)
{
	return pci->vendor == CLV_PCI_VENDOR_INTEL && clv_pci_is_gpu(pci) &&
	       (strcmp(pci->driver, "xe") == 0 || strcmp(pci->driver, "i915") == 0);
}

void clv_pci_number(const struct clv_pci *pci, char ret[16])
{
	_cleanup_names_ struct clv_names names = {0};
	unsigned n = 0;

	ret[0] = '\0';
	if (!is_for_level_zero(pci) || clv_file_list(&names, "bus/pci/devices") < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		struct clv_pci other;

		if (strcmp(names.items[i], pci->address) < 0 &&
			clv_pci_read(names.items[i], &other) == 0 &&
			is_for_level_zero(&other))
			n++;
	}
	snprintf(ret, 16, "%u", n);
}

void clv_pci_describe(const struct clv_pci *pci, struct clv_device *ret)
{
	*ret = (struct clv_device){.executor = "none"};
	snprintf(ret->uuid, sizeof(ret->uuid), "pci-%s", pci->address);
	snprintf(ret->type, sizeof(ret->type), "%s",
		clv_pci_is_gpu(pci) ? "gpu" : "accelerator");
	clv_pci_vendor(pci, ret->vendor);
	clv_pci_model(pci, ret->model);
	clv_pci_driver_version(pci->driver, ret->driver);
	clv_pci_number(pci, ret->visible);
}

const char *clv_pci_label(const struct clv_node_device *device)
{
	return device->info.name[0] != '\0' ? device->info.name : device->pci_address;
}
