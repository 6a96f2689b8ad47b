/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"
#include "gi-profile.h"
#include "handles.h"
#include "layout.h"
#include "processes.h"

/* GPU instances: made, found, told about, destroyed. */

static bool id_is_taken(const struct dnv_gpu_state *gpu, uint32_t id)
{
	for (unsigned i = 0; i < DNV_GIS_MAX; i++)
		if (gpu->gis[i].serial && gpu->gis[i].id == id)
			return true;
	return false;
}

/* In a tree of halves the whole is 0, the halves are 1 and 2, their halves 3 to 6 ... */
static uint32_t tree_id(
	const struct dnv_target *target, struct dnv_placement at, bool swapped)
{
	uint32_t grid = target->model->grid, parts = grid / at.size, start = at.start;

	if (swapped)
		start = (start + grid / 2) % grid;
	return parts == 1 ? 0 : parts - 1 + start / at.size;
}

static uint32_t choose_id(const struct dnv_target *target, struct dnv_placement at)
{
	uint32_t id = 1;

	if (target->config->ids != DNV_IDS_FREE)
		return tree_id(target, at, target->config->ids == DNV_IDS_SWAPPED);
	while (id_is_taken(target->state, id))
		id++;
	return id;
}

static int make(const struct dnv_target *target, unsigned profile,
	struct dnv_placement at, struct dnv_handle **ret)
{
	struct dnv_state *edit = dnv_edit();
	struct dnv_gi *gis = edit->gpus[target->gpu].gis;

	for (unsigned i = 0; i < DNV_GIS_MAX; i++) {
		if (gis[i].serial)
			continue;
		gis[i] = (struct dnv_gi){
			.serial = ++edit->last_serial,
			.id = choose_id(target, at),
			.profile = (uint8_t)profile,
			.start = (uint8_t)at.start,
		};
		*ret = dnv_handle_gi(target->gpu, i, gis[i].serial);
		return DNV_SUCCESS;
	}
	return DNV_INSUFFICIENT_RESOURCES;
}

/* What both ways of making one check. */
static int check_create(struct dnv_handle *device, uint32_t profile_id,
	struct dnv_handle **ret, struct dnv_target *target, unsigned *profile)
{
	int r = dnv_resolve_mig_on(device, target);
	int index;

	if (r)
		return r;
	if (!ret)
		return DNV_INVALID_ARGUMENT;
	if (target->config->vgpu == DNV_VGPU_GUEST)
		return DNV_NOT_SUPPORTED;
	if (dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	index = dnv_gi_profile_by_id(target->model, profile_id);
	if (index < 0)
		return DNV_INVALID_ARGUMENT;
	*profile = (unsigned)index;
	return DNV_SUCCESS;
}

int dnv_nvmlDeviceCreateGpuInstance(
	struct dnv_handle *device, uint32_t profile_id, struct dnv_handle **ret)
{
	struct dnv_target target;
	struct dnv_placement at;
	unsigned profile;
	int r = check_create(device, profile_id, ret, &target, &profile);

	if (r)
		return r;
	if (!dnv_gi_place(target.model, target.state, profile, &at))
		return DNV_INSUFFICIENT_RESOURCES;
	return make(&target, profile, at, ret);
}

int dnv_nvmlDeviceCreateGpuInstanceWithPlacement(struct dnv_handle *device,
	uint32_t profile_id, const struct dnv_placement *at, struct dnv_handle **ret)
{
	struct dnv_target target;
	unsigned profile;
	int r = check_create(device, profile_id, at ? ret : NULL, &target, &profile);

	if (r)
		return r;
	r = dnv_gi_fits(target.model, target.state, profile, *at);
	return r ? r : make(&target, profile, *at, ret);
}

static bool has_cis(const struct dnv_gi *gi)
{
	for (unsigned i = 0; i < DNV_CIS_MAX; i++)
		if (gi->cis[i].serial)
			return true;
	return false;
}

int dnv_nvmlGpuInstanceDestroy(struct dnv_handle *gi)
{
	struct dnv_target target;
	int r = dnv_resolve(gi, DNV_KIND_GI, &target);

	if (r)
		return r;
	if (target.config->vgpu == DNV_VGPU_GUEST)
		return DNV_NOT_SUPPORTED;
	if (dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	if (has_cis(target.gi) || dnv_processes_use(&target))
		return DNV_IN_USE;
	dnv_edit()->gpus[target.gpu].gis[target.gi_slot] = (struct dnv_gi){0};
	return DNV_SUCCESS;
}

/* The vendor's has no way to know how much room there is, and asks for as much as the
 * profile has instances at most: what is not needed of it is spoiled. */
int dnv_nvmlDeviceGetGpuInstances(struct dnv_handle *device, uint32_t profile_id,
	struct dnv_handle **ret, uint32_t *count)
{
	struct dnv_target target;
	uint32_t n = 0;
	int profile, r = dnv_resolve_mig_on(device, &target);

	if (r)
		return r;
	if (!ret || !count)
		return DNV_INVALID_ARGUMENT;
	if (dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	profile = dnv_gi_profile_by_id(target.model, profile_id);
	if (profile < 0)
		return DNV_INVALID_ARGUMENT;
	for (unsigned i = 0; i < DNV_GIS_MAX; i++) {
		const struct dnv_gi *gi = &target.state->gis[i];

		if (gi->serial && gi->profile == profile)
			ret[n++] = dnv_handle_gi(target.gpu, i, gi->serial);
	}
	for (uint32_t i = n; i < target.model->profiles[profile].max; i++)
		ret[i] = dnv_handle_bad();
	*count = n;
	return DNV_SUCCESS;
}

int dnv_nvmlDeviceGetGpuInstanceById(
	struct dnv_handle *device, uint32_t id, struct dnv_handle **ret)
{
	struct dnv_target target;
	int r = dnv_resolve_mig_on(device, &target);

	if (r)
		return r;
	if (!ret)
		return DNV_INVALID_ARGUMENT;
	if (dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	for (unsigned i = 0; i < DNV_GIS_MAX; i++) {
		const struct dnv_gi *gi = &target.state->gis[i];

		if (!gi->serial || gi->id != id)
			continue;
		*ret = dnv_handle_gi(target.gpu, i, gi->serial);
		return DNV_SUCCESS;
	}
	return DNV_NOT_FOUND;
}

int dnv_nvmlGpuInstanceGetInfo(struct dnv_handle *gi, struct dnv_gi_info *info)
{
	struct dnv_target target;
	int r = dnv_resolve_for(gi, DNV_KIND_GI, info, &target);

	if (r)
		return r;
	*info = (struct dnv_gi_info){
		.device = dnv_handle_gpu(target.gpu),
		.id = target.gi->id,
		.profile_id = target.gi_profile->id,
		.placement = {target.gi->start, target.gi_profile->span.size},
	};
	return DNV_SUCCESS;
}
