/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one GPU of amdgpu from sysfs: its identity, its modes, and why it cannot be
 * divided.  ROCm SMI is not needed: it reads partitions, users and memory from the same
 * files.  The memory of each process is read by clv_amd_sample(). */
#include "backend/amd/amd.h"

#include "backend/files.h"
#include "base/cleanup.h"
#include "core/gpu/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_text(const struct clv_pci *pci, const char *name, char *ret, size_t bytes)
{
	int r = clv_file_read(ret, bytes, "bus/pci/devices/%s/%s", pci->address, name);

	if (r <= 0)
		ret[0] = '\0';
	return r;
}

/* Matches the product's name before the PCI id, since several products share one id. */
static const struct clv_xcp_model *find_model(
	const struct clv_pci *pci, const char *product, bool *ret_is_virtual)
{
	const struct clv_xcp_model *model;
	const struct clv_gpu *by_id =
		clv_gpu_find_pci(CLV_GPU_AMD, pci->device, ret_is_virtual);

	for (size_t i = 0; (model = clv_xcp_model_at(i)); i++) {
		if (strstr(product, model->name))
			return model;
	}
	return by_id ? by_id->xcp : NULL;
}

static void read_info(const struct clv_pci *pci, const struct clv_xcp_model *model,
	const char *product, struct clv_device *info)
{
	char text[32];

	clv_pci_describe(pci, info);
	info->backend = "amd";
	info->executor = "gate";
	if (read_text(pci, "unique_id", text, sizeof(text)) > 0)
		clv_kfd_make_uuid(
			strtoull(text, NULL, 16), info->uuid, sizeof(info->uuid));
	if (product[0] != '\0')
		snprintf(info->model, sizeof(info->model), "%s", product);
	else if (model)
		snprintf(
			info->model, sizeof(info->model), "AMD Instinct %s", model->name);
	if (clv_file_read_number(&info->memory_bytes,
		    "bus/pci/devices/%s/mem_info_vram_total", pci->address) < 0)
		info->memory_bytes = 0;
}

/* KFD's counts of the running GPU are preferred to the nominal ones of the tables. */
static void count_units(const struct clv_kfd *kfd, struct clv_node_device *device)
{
	const struct clv_kfd_node *node;
	uint32_t units = 0, dies = 0;

	for (unsigned i = 0; (node = clv_kfd_find(kfd, device->pci_address, i)); i++) {
		units += node->compute_units;
		dies += node->dies;
	}
	if (device->xcp.model) {
		device->xcp.dies = device->xcp.model->dies;
		device->info.compute_units = device->xcp.model->compute_units;
	}
	if (dies > 0)
		device->xcp.dies = dies;
	if (units > 0)
		device->info.compute_units = units;
}

/* KFD's 90402 is major version 9, minor 4, stepping 2 in decimal; compilers call it
 * gfx942, with hexadecimal minor version and stepping: 90010 is gfx90a. */
static void name_architecture(const struct clv_kfd *kfd, struct clv_node_device *device)
{
	const struct clv_kfd_node *node = clv_kfd_find(kfd, device->pci_address, 0);
	char *name = device->info.generation.architecture;

	if (node && node->target > 0)
		snprintf(name, sizeof(device->info.generation.architecture), "gfx%u%x%x",
			node->target / 10000, node->target / 100 % 100,
			node->target % 100);
}

/* Parses "SPX, DPX, CPX" into a mask; unknown modes are ignored. */
static uint32_t parse_modes(char *text, uint32_t (*parse)(const char *))
{
	uint32_t bits = 0;
	char *rest = NULL;

	for (char *word = strtok_r(text, ", ", &rest); word;
		word = strtok_r(NULL, ", ", &rest))
		bits |= parse(word);
	return bits;
}

static uint32_t compute_bit(const char *text)
{
	int mode = clv_compute_mode_from_string(text);

	return mode < 0 ? 0 : 1u << mode;
}

static void set_cannot_divide(struct clv_node_device *device, const char *why)
{
	snprintf(device->cannot_divide, sizeof(device->cannot_divide), "%s", why);
}

/* A GPU whose memory mode cannot change lacks available_memory_partition, or both files:
 * its mode is taken as NPS1 then.  EPERM means that the GPU is being reset. */
static bool read_memory_mode(const struct clv_pci *pci, struct clv_xcp_state *xcp)
{
	char text[CLV_FILE_TEXT_MAX];
	int r = read_text(pci, "current_memory_partition", text, sizeof(text));

	if (r == -EPERM)
		return false;
	xcp->memory = r < 0 ? CLV_NPS1 : clv_memory_mode_from_string(text);
	if (read_text(pci, "available_memory_partition", text, sizeof(text)) > 0)
		xcp->memory_available = parse_modes(text, clv_memory_mode_from_string);
	else
		xcp->memory_available = xcp->memory;
	return xcp->memory != 0;
}

static bool read_compute_mode(const struct clv_pci *pci, struct clv_xcp_state *xcp)
{
	char text[CLV_FILE_TEXT_MAX];
	int mode;

	if (read_text(pci, "current_compute_partition", text, sizeof(text)) <= 0)
		return false;
	mode = clv_compute_mode_from_string(text);
	if (mode < 0)
		return false;
	xcp->compute = (enum clv_compute_mode)mode;
	if (read_text(pci, "available_compute_partition", text, sizeof(text)) > 0)
		xcp->compute_available = parse_modes(text, compute_bit);
	return true;
}

static const char *why_no_files(const struct clv_xcp_model *model, bool is_virtual)
{
	if (is_virtual)
		return "a virtual function: only its host can divide the GPU; give "
		       "shares of it";
	if (!model)
		return "this model has no partitions: give shares of it";
	return "this amdgpu driver has no partitions: install AMD's amdgpu-dkms or a "
	       "newer kernel, or give shares of the GPU";
}

static void read_modes(
	const struct clv_pci *pci, bool is_virtual, struct clv_node_device *device)
{
	struct clv_xcp_state *xcp = &device->xcp;
	bool has_modes;

	is_virtual = is_virtual || pci->is_virtual;
	xcp->memory = CLV_NPS1;
	if (!clv_file_exists(
		    "bus/pci/devices/%s/current_compute_partition", pci->address)) {
		set_cannot_divide(device, why_no_files(xcp->model, is_virtual));
		return;
	}
	has_modes = read_memory_mode(pci, xcp);
	has_modes = read_compute_mode(pci, xcp) && has_modes;
	if (!has_modes)
		set_cannot_divide(device,
			"amdgpu shows no mode, as while a GPU is reset: try "
			"again in a minute");
	else if (is_virtual)
		set_cannot_divide(device,
			"a virtual function: only its host can change its mode; "
			"give shares of it");
	else if (!clv_file_is_writable(
			 "bus/pci/devices/%s/current_compute_partition", pci->address) ||
		 xcp->compute_available == 0)
		set_cannot_divide(device,
			"amdgpu does not allow a change of this GPU's mode: give "
			"shares of it");
	else
		xcp->is_capable = true;
	if (has_modes && xcp->compute != CLV_SPX)
		device->scheme = CLV_SCHEME_XCP;
}

int clv_amd_read_device(struct clv_amd_backend *backend, const struct clv_pci *pci,
	const struct clv_amd_snapshot *scene, struct clv_node_device *device)
{
	char product[CLV_DEVICE_TEXT_MAX];
	bool is_virtual;
	int r;

	read_text(pci, "product_name", product, sizeof(product));
	device->xcp.model = find_model(pci, product, &is_virtual);
	read_info(pci, device->xcp.model, product, &device->info);
	snprintf(device->pci_address, sizeof(device->pci_address), "%s", pci->address);
	device->numa_node = pci->numa_node;
	clv_pci_root(pci->address, device->pcie_root);
	read_text(pci, "xgmi_hive_info/xgmi_hive_id", device->hive, sizeof(device->hive));
	if (strcmp(device->hive, "0") == 0)
		device->hive[0] = '\0';
	count_units(&scene->kfd, device);
	name_architecture(&scene->kfd, device);
	read_modes(pci, is_virtual, device);
	device->xcp.requested_memory = clv_amd_requested(backend, device);
	r = clv_amd_add_holders(scene, device);
	return r < 0 ? r : clv_amd_add_partitions(scene, device);
}
