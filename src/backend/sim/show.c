/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a reading of a simulated device: its properties, scheme and holders. */
#include "backend/sim/sim.h"

#include "base/cpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IOMMU_GROUPS_BEGIN 100

static void show_info(const struct clv_sim_device *device, struct clv_device *info)
{
	const struct clv_sim_product *product = &device->product;

	memcpy(info->uuid, device->uuid, sizeof(info->uuid));
	snprintf(info->model, sizeof(info->model), "%s", product->model);
	snprintf(info->vendor, sizeof(info->vendor), "%s",
		clv_sim_vendor_to_string(product->vendor));
	snprintf(info->driver, sizeof(info->driver), "simulated");
	snprintf(info->type, sizeof(info->type), "%s",
		product->vendor == CLV_SIM_CPU ? "cpu" : "gpu");
	info->backend = "sim";
	info->executor = "none"; /* nothing can run on it */
	info->memory_bytes = device->memory_bytes;
	info->max_allocation_bytes = device->memory_bytes;
	info->compute_units = device->compute_units;
}

static void show_mig(const struct clv_sim_device *device, struct clv_mig_state *mig)
{
	mig->is_capable = device->mig != NULL;
	mig->is_absent = !mig->is_capable;
	mig->is_on = device->state.mig_on;
	mig->is_pending = device->state.mig_pending;
	mig->needs_reset = device->reset != CLV_SIM_RESET_NONE;
	mig->cannot_reset = device->reset == CLV_SIM_RESET_REFUSED;
	mig->is_lost_at_reboot = device->product.is_mig_lost_at_reboot;
	mig->model = device->mig;
}

/* The driver lists the compute modes that are legal in the current memory mode. */
static void show_xcp(const struct clv_sim_device *device, struct clv_xcp_state *xcp)
{
	xcp->is_capable = device->xcp != NULL;
	if (!device->xcp)
		return;
	xcp->model = device->xcp;
	xcp->dies = device->xcp->dies;
	xcp->compute = device->state.compute;
	xcp->memory = device->state.memory;
	xcp->requested_memory = device->state.requested_memory;
	xcp->memory_available = device->xcp->memory_modes;
	for (int i = 0; i < _CLV_COMPUTE_MODE_MAX; i++) {
		if (clv_xcp_memory_modes((enum clv_compute_mode)i, xcp->dies) &
			xcp->memory)
			xcp->compute_available |= 1u << i;
	}
}

static void show_function(
	const struct clv_sim_device *device, uint32_t number, struct clv_vf *vf)
{
	const struct clv_vf_quota *quota = &device->state.vf[number - 1];
	bool is_chosen = quota->driver[0] != '\0';

	vf->number = number;
	clv_sim_vf_address(device, number, vf->address);
	snprintf(vf->driver, sizeof(vf->driver), "%s",
		is_chosen ? quota->driver : clv_sim_vf_driver(device));
	vf->iommu_group =
		(int32_t)(IOMMU_GROUPS_BEGIN + device->index * CLV_SIM_VFS_MAX + number);
	vf->quota = *quota;
}

static int show_vf(const struct clv_sim_device *device, struct clv_vf_state *vf)
{
	uint32_t n = device->state.vf_count;

	vf->is_capable = device->vf_total > 0;
	vf->total = device->vf_total;
	vf->counts = device->vf_counts;
	vf->framework = device->vf_framework;
	vf->has_all_types = true;
	vf->is_mixed = device->vf_is_mixed;
	if (!vf->is_capable)
		snprintf(vf->why_not, sizeof(vf->why_not), "%s has none here",
			device->product.name);
	vf->items = n ? calloc(n, sizeof(*vf->items)) : NULL;
	vf->types = device->n_types ? calloc(device->n_types, sizeof(*vf->types)) : NULL;
	if ((n && !vf->items) || (device->n_types && !vf->types))
		return -ENOMEM;
	for (vf->n = 0; vf->n < n; vf->n++)
		show_function(device, (uint32_t)vf->n + 1, &vf->items[vf->n]);
	for (vf->n_types = 0; vf->n_types < device->n_types; vf->n_types++)
		vf->types[vf->n_types] = device->types[vf->n_types];
	return 0;
}

static int show_cores(const struct clv_sim_device *device, struct clv_cores_state *cores)
{
	size_t n = (size_t)CPU_COUNT(&device->cpus);

	cores->is_capable = n > 0;
	if (n == 0)
		return 0;
	cores->ids = calloc(n, sizeof(*cores->ids));
	if (!cores->ids)
		return -ENOMEM;
	for (uint16_t i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &device->cpus))
			cores->ids[cores->total++] = i;
	}
	return 0;
}

static enum clv_scheme scheme_of(const struct clv_sim_device *device)
{
	const struct clv_sim_state *state = &device->state;

	if (state->mig_on)
		return CLV_SCHEME_MIG;
	if (state->vf_count > 0)
		return CLV_SCHEME_VF;
	if (state->n_sets > 0)
		return CLV_SCHEME_CORES;
	if (device->xcp && state->compute != CLV_SPX)
		return CLV_SCHEME_XCP;
	return CLV_SCHEME_NONE;
}

static void explain_no_scheme(struct clv_node_device *ret)
{
	if (ret->mig.is_capable || ret->xcp.is_capable || ret->vf.is_capable ||
		ret->cores.is_capable)
		return;
	snprintf(ret->cannot_divide, sizeof(ret->cannot_divide),
		"%.40s has no MIG and no virtual functions here: use shares of it, "
		"cleave run --share",
		ret->info.model);
}

/* --- Holders --- */

static struct clv_holders *find_part(
	struct clv_partition *partition, const char *name, size_t skip)
{
	for (size_t i = 0; i < partition->n_parts; i++) {
		if (strcmp(partition->parts[i].name + skip, name) == 0)
			return &partition->parts[i].holders;
	}
	return NULL;
}

/* Finds a partition or part by its name without the device's; "": the device.  NULL: the
 * device has no such partition now. */
static struct clv_holders *find_holders(struct clv_node_device *ret, const char *name)
{
	size_t skip = strlen(ret->info.name) + 1;

	if (name[0] == '\0')
		return &ret->holders;
	for (size_t i = 0; i < ret->n_partitions; i++) {
		struct clv_partition *partition = &ret->partitions[i];
		struct clv_holders *of_part = find_part(partition, name, skip);

		if (strcmp(partition->name + skip, name) == 0)
			return &partition->holders;
		if (of_part)
			return of_part;
	}
	return NULL;
}

static int add_holder(struct clv_holders *holders, const struct clv_holder *holder)
{
	struct clv_holder *added = clv_holders_add(holders);

	if (!added)
		return -ENOMEM;
	*added = *holder;
	return 0;
}

/* A virtual function is both in ret->vf.items and in ret->partitions. */
static int add_to_function(
	struct clv_node_device *ret, const char *name, const struct clv_holder *holder)
{
	size_t skip = strlen(ret->info.name) + 1;

	for (size_t i = 0; i < ret->vf.n; i++) {
		if (strcmp(ret->partitions[i].name + skip, name) == 0)
			return add_holder(&ret->vf.items[i].holders, holder);
	}
	return 0;
}

static int show_holders(const struct clv_sim *sim, const struct clv_sim_device *device,
	struct clv_node_device *ret)
{
	int r = 0;

	for (size_t i = 0; i < sim->n_holders && r == 0; i++) {
		const struct clv_sim_holder *from = &sim->holders[i];
		struct clv_holders *holders;

		if (from->device != device->index)
			continue;
		holders = find_holders(ret, from->part);
		if (!holders)
			continue;
		r = add_holder(holders, &from->holder);
		if (r == 0)
			r = add_to_function(ret, from->part, &from->holder);
	}
	return r;
}

/* The number of devices that programs see. */
static unsigned int count_of(const struct clv_sim_device *device)
{
	return device->xcp ? clv_xcp_devices(device->state.compute, device->xcp->dies)
			   : 1;
}

/* Sets the indexes of AMD's partitions (ROCm) and Intel's devices (Level Zero); virtual
 * functions are not counted. */
static void show_numbers(const struct clv_sim *sim, const struct clv_sim_device *device,
	struct clv_node_device *ret)
{
	unsigned int n = 0;

	for (size_t i = 0; i < device->index; i++) {
		if (sim->devices[i].product.vendor == device->product.vendor)
			n += count_of(&sim->devices[i]);
	}
	if (device->product.vendor == CLV_SIM_INTEL)
		snprintf(ret->info.visible, sizeof(ret->info.visible), "%u", n);
	for (size_t i = 0; i < ret->n_partitions && ret->scheme == CLV_SCHEME_XCP; i++)
		snprintf(ret->partitions[i].visible, sizeof(ret->partitions[i].visible),
			"%zu", n + i);
}

int clv_sim_fill(const struct clv_sim *sim, const struct clv_sim_device *device,
	struct clv_node_device *ret)
{
	int r;

	show_info(device, &ret->info);
	ret->index = device->index;
	memcpy(ret->pci_address, device->pci_address, sizeof(ret->pci_address));
	memcpy(ret->hive, device->hive, sizeof(ret->hive));
	ret->numa_node = device->numa_node;
	ret->scheme = scheme_of(device);
	show_mig(device, &ret->mig);
	show_xcp(device, &ret->xcp);
	r = show_vf(device, &ret->vf);
	if (r == 0)
		r = show_cores(device, &ret->cores);
	if (r == 0)
		r = clv_sim_fill_partitions(device, ret);
	if (r < 0)
		return r;
	explain_no_scheme(ret);
	show_numbers(sim, device, ret);
	return show_holders(sim, device, ret);
}
