/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"
#include "ci-profile.h"
#include "handles.h"
#include "layout.h"
#include "mig-device.h"
#include "processes.h"

/* Compute instances: made, found, told about, destroyed. */

static uint32_t choose_id(const struct dnv_gi *gi)
{
	uint32_t taken = 0;

	for (unsigned i = 0; i < DNV_CIS_MAX; i++)
		if (gi->cis[i].serial)
			taken |= 1U << gi->cis[i].id;
	return (uint32_t)__builtin_ctz(~taken);
}

static int make(const struct dnv_target *gi, unsigned profile, struct dnv_placement at,
	struct dnv_handle **ret)
{
	struct dnv_state *edit = dnv_edit();
	struct dnv_ci *cis = edit->gpus[gi->gpu].gis[gi->gi_slot].cis;

	for (unsigned i = 0; i < DNV_CIS_MAX; i++) {
		if (cis[i].serial)
			continue;
		cis[i] = (struct dnv_ci){
			.serial = ++edit->last_serial,
			.id = choose_id(gi->gi),
			.mig_index = dnv_mig_free_index(gi->state),
			.profile = (uint8_t)profile,
			.start = (uint8_t)at.start,
		};
		*ret = dnv_handle_ci(gi->gpu, gi->gi_slot, i, cis[i].serial);
		return DNV_SUCCESS;
	}
	return DNV_INSUFFICIENT_RESOURCES;
}

static int check_create(struct dnv_handle *gi, uint32_t profile_id,
	struct dnv_handle **ret, struct dnv_target *target, unsigned *profile)
{
	int index, r = dnv_resolve_for(gi, DNV_KIND_GI, ret, target);

	if (r)
		return r;
	if (dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	index = dnv_ci_profile_of(target, profile_id);
	if (index < 0)
		return DNV_NOT_SUPPORTED;
	*profile = (unsigned)index;
	return DNV_SUCCESS;
}

int dnv_nvmlGpuInstanceCreateComputeInstance(
	struct dnv_handle *gi, uint32_t profile_id, struct dnv_handle **ret)
{
	struct dnv_target target;
	struct dnv_placement at;
	unsigned profile;
	int r = check_create(gi, profile_id, ret, &target, &profile);

	if (r)
		return r;
	if (!dnv_ci_place(target.model, target.gi, profile, &at))
		return DNV_INSUFFICIENT_RESOURCES;
	return make(&target, profile, at, ret);
}

int dnv_nvmlGpuInstanceCreateComputeInstanceWithPlacement(struct dnv_handle *gi,
	uint32_t profile_id, const struct dnv_placement *at, struct dnv_handle **ret)
{
	struct dnv_target target;
	unsigned profile;
	int r = check_create(gi, profile_id, at ? ret : NULL, &target, &profile);

	if (r)
		return r;
	r = dnv_ci_fits(target.gi, profile, *at);
	return r ? r : make(&target, profile, *at, ret);
}

int dnv_nvmlComputeInstanceDestroy(struct dnv_handle *ci)
{
	struct dnv_target target;
	struct dnv_gi *gi;
	int r = dnv_resolve(ci, DNV_KIND_CI, &target);

	if (r)
		return r;
	if (dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	if (dnv_processes_use(&target))
		return DNV_IN_USE;
	gi = &dnv_edit()->gpus[target.gpu].gis[target.gi_slot];
	gi->cis[target.ci_slot] = (struct dnv_ci){0};
	return DNV_SUCCESS;
}

int dnv_nvmlGpuInstanceGetComputeInstances(struct dnv_handle *gi, uint32_t profile_id,
	struct dnv_handle **ret, uint32_t *count)
{
	struct dnv_target target;
	uint32_t n = 0;
	int profile, r = dnv_resolve(gi, DNV_KIND_GI, &target);

	if (r)
		return r;
	if (!ret || !count)
		return DNV_INVALID_ARGUMENT;
	if (dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	profile = dnv_ci_profile_of(&target, profile_id);
	if (profile < 0)
		return DNV_NOT_SUPPORTED;
	for (unsigned i = 0; i < DNV_CIS_MAX; i++) {
		const struct dnv_ci *ci = &target.gi->cis[i];

		if (ci->serial && ci->profile == profile)
			ret[n++] =
				dnv_handle_ci(target.gpu, target.gi_slot, i, ci->serial);
	}
	for (uint32_t i = n; i < dnv_ci_profiles[profile].span.n_starts; i++)
		ret[i] = dnv_handle_bad();
	*count = n;
	return DNV_SUCCESS;
}

int dnv_nvmlGpuInstanceGetComputeInstanceById(
	struct dnv_handle *gi, uint32_t id, struct dnv_handle **ret)
{
	struct dnv_target target;
	int r = dnv_resolve_for(gi, DNV_KIND_GI, ret, &target);

	if (r)
		return r;
	if (dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	for (unsigned i = 0; i < DNV_CIS_MAX; i++) {
		const struct dnv_ci *ci = &target.gi->cis[i];

		if (!ci->serial || ci->id != id)
			continue;
		*ret = dnv_handle_ci(target.gpu, target.gi_slot, i, ci->serial);
		return DNV_SUCCESS;
	}
	return DNV_NOT_FOUND;
}

int dnv_nvmlComputeInstanceGetInfo_v2(struct dnv_handle *ci, struct dnv_ci_info *info)
{
	struct dnv_target target;
	int r = dnv_resolve_for(ci, DNV_KIND_CI, info, &target);

	if (r)
		return r;
	*info = (struct dnv_ci_info){
		.v1 =
			{
				.device = dnv_handle_gpu(target.gpu),
				.gi = dnv_handle_gi(
					target.gpu, target.gi_slot, target.gi->serial),
				.id = target.ci->id,
				.profile_id = target.ci_profile->number,
			},
		.placement = {target.ci->start, target.ci_profile->span.size},
	};
	return DNV_SUCCESS;
}

int dnv_nvmlComputeInstanceGetInfo(struct dnv_handle *ci, struct dnv_ci_info_v1 *info)
{
	struct dnv_ci_info full;
	int r = dnv_nvmlComputeInstanceGetInfo_v2(ci, info ? &full : NULL);

	if (!r)
		*info = full.v1;
	return r;
}
