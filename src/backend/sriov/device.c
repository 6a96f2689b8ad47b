/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a physical function: the virtual functions that it can have and has, and the
 * driver framework that makes them usable. */
#include "backend/sriov/sriov.h"

#include "backend/files.h"
#include "base/cleanup.h"
#include "core/device/vgpu.h"
#include "core/gpu/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PF "bus/pci/devices/%s/"

/* The files in which drivers report the device's memory in bytes: one file of the device,
 * or one in each folder whose name begins with prefix; then the values are summed. */
static const struct {
	const char *folder; /* below the device's; "" for the device's own */
	const char *prefix;
	const char *name;
} memory_files[] = {
	{"", NULL, "mem_info_vram_total"},               /* amdgpu */
	{"", "tile", "physical_vram_size_bytes"},        /* xe */
	{"", "tile", "memory/physical_vram_size_bytes"}, /* xe, earlier */
	{"drm", "card", "lmem_total_bytes"},             /* i915 of Intel's own release */
	{"", NULL, "lmem_total_bytes"},                  /* the same, earlier */
};

static bool is_passed(const struct clv_pci *pci)
{
	return strncmp(pci->driver, "vfio", 4) == 0;
}

static const char *why_not(const struct clv_pci *pci, const struct clv_vf_state *vf)
{
	if (is_passed(pci))
		return "it is passed to a virtual machine as a whole (bound to vfio-pci)";
	if (pci->driver[0] == '\0')
		return "it has no driver, and its driver creates the functions: load it";
	if (vf->total == 0)
		return "its driver offers no virtual functions now";
	if (!clv_file_is_writable(PF "sriov_numvfs", pci->address))
		return "its driver does not create virtual functions";
	if (clv_vgpu_has_types(vf->framework) && !clv_sriov_manage())
		return "NVIDIA's vGPU host driver, with sriov-manage, is not installed";
	return "";
}

static void read_abilities(const struct clv_pci *pci, struct clv_vf_state *vf)
{
	uint64_t total = 0;

	clv_file_read_number(&total, PF "sriov_totalvfs", pci->address);
	vf->total = total <= CLV_SRIOV_MAX ? (uint32_t)total : 0;
	vf->framework = clv_sriov_detect(pci);
	/* sriov-manage creates all functions or none. */
	if (clv_vgpu_has_types(vf->framework) && vf->total > 0 && vf->total <= 64)
		vf->counts = UINT64_C(1) << (vf->total - 1);
	snprintf(vf->why_not, sizeof(vf->why_not), "%s", why_not(pci, vf));
	vf->is_capable = vf->why_not[0] == '\0';
}

static uint64_t read_bytes(const char *path)
{
	uint64_t bytes = 0;

	return clv_file_read_number(&bytes, "%s", path) < 0 ? 0 : bytes;
}

static uint64_t sum_of(const char *folder, const char *prefix, const char *name)
{
	_cleanup_names_ struct clv_names names = {0};
	uint64_t bytes = 0;
	char path[256];

	if (clv_file_list(&names, "%s", folder) < 0)
		return 0;
	for (size_t i = 0; i < names.n; i++) {
		if (strncmp(names.items[i], prefix, strlen(prefix)) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s/%s", folder, names.items[i], name);
		bytes += read_bytes(path);
	}
	return bytes;
}

/* The memory that the driver reports, else the product's nominal memory. */
static void read_memory(const struct clv_pci *pci, struct clv_device *info)
{
	const struct clv_gpu *product = clv_pci_product(pci);
	char folder[64], path[128];

	for (size_t i = 0; info->memory_bytes == 0 && i < CLV_ARRAY_SIZE(memory_files);
		i++) {
		snprintf(folder, sizeof(folder), PF "%s", pci->address,
			memory_files[i].folder);
		snprintf(path, sizeof(path), "%s/%s", folder, memory_files[i].name);
		info->memory_bytes = memory_files[i].prefix
					     ? sum_of(folder, memory_files[i].prefix,
						       memory_files[i].name)
					     : read_bytes(path);
	}
	if (info->memory_bytes == 0 && product)
		info->memory_bytes = (uint64_t)product->memory_gib << 30;
}

static int add_partition(struct clv_sriov_backend *backend,
	struct clv_node_device *device, const struct clv_vf *vf)
{
	struct clv_partition *partition = clv_node_add_partition(device);
	const struct clv_vf_state *state = &device->vf;
	const struct clv_vgpu_type *known;
	struct clv_pci function;
	char type[48];

	if (!partition)
		return -ENOMEM;
	snprintf(partition->profile, sizeof(partition->profile), "vf:%zu", state->n);
	snprintf(partition->address, sizeof(partition->address), "%s", vf->address);
	partition->start = vf->number;
	partition->size = 1;
	partition->memory_bytes = vf->quota.memory_bytes;
	if (clv_pci_read(vf->address, &function) == 0)
		clv_pci_number(&function, partition->visible);
	/* A virtual machine is given the mdev, or without one the address. */
	clv_sriov_read_type(
		backend, state->framework, vf->address, type, partition->uuid);
	known = clv_vgpu_find(backend->types, backend->n_types, vf->quota.type);
	if (known)
		partition->memory_bytes = known->memory_bytes;
	return clv_holders_copy(&partition->holders, &vf->holders);
}

/* With mdev all functions offer the same types, so one is read.  With VFIO each function
 * offers the types that can be created on it now. */
static int read_offered_types(
	struct clv_sriov_backend *backend, uint32_t count, struct clv_node_device *device)
{
	char address[CLV_PCI_ADDRESS_MAX];
	int r = clv_sriov_merge_nvml_types(backend, device);

	for (uint32_t i = 1;
		r == 0 && i <= count &&
		(device->vf.framework != CLV_VF_MDEV || device->vf.n_types == 0);
		i++) {
		if (clv_sriov_address(device->pci_address, i, address) == 0)
			r = clv_sriov_add_types(backend, address, device);
	}
	return r;
}

static int read_functions(struct clv_sriov_backend *backend,
	const struct clv_openers *openers, struct clv_node_device *device)
{
	uint32_t count = clv_sriov_count(device->pci_address);
	int r = read_offered_types(backend, count, device);

	for (uint32_t i = 1; r == 0 && i <= count; i++) {
		struct clv_vf vf = {.number = i};

		r = clv_sriov_read_function(backend, device, openers, &vf);
		if (r == 0)
			r = clv_sriov_add_function(&device->vf, &vf);
		if (r < 0)
			free(vf.holders.items);
		if (r == -ENODEV)
			r = 0; /* the number of functions is changing */
	}
	clv_sriov_classify_types(backend, &device->vf);
	return r < 0 ? r : clv_sriov_add_recalled_types(device);
}

int clv_sriov_read_device(struct clv_sriov_backend *backend, const struct clv_pci *pci,
	const struct clv_openers *openers, struct clv_node_device *device)
{
	int r;

	clv_pci_describe(pci, &device->info);
	device->info.backend = "sriov";
	snprintf(device->pci_address, sizeof(device->pci_address), "%s", pci->address);
	device->numa_node = pci->numa_node;
	clv_pci_root(pci->address, device->pcie_root);
	read_memory(pci, &device->info);
	read_abilities(pci, &device->vf);
	if (!device->vf.is_capable)
		snprintf(device->cannot_divide, sizeof(device->cannot_divide), "%s",
			device->vf.why_not);
	r = read_functions(backend, openers, device);
	if (device->vf.n > 0)
		device->scheme = CLV_SCHEME_VF;
	for (size_t i = 0; r == 0 && i < device->vf.n; i++)
		r = add_partition(backend, device, &device->vf.items[i]);
	if (r == 0 && is_passed(pci))
		r = clv_sriov_find_machine(openers, pci->address, &device->holders);
	return r;
}
