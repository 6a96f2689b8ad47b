/* SPDX-License-Identifier: Apache-2.0 */
#include "ci-profile.h"
#include "call.h"
#include "gi-profile.h"
#include "layout.h"
#include <string.h>

/* The compute instances that a GPU instance may have. */

#define ENGINES_SHARED 0

int dnv_ci_profile_of(const struct dnv_target *gi, uint32_t number)
{
	for (size_t i = 0; i < dnv_n_ci_profiles; i++)
		if (dnv_ci_profiles[i].number == number &&
			dnv_ci_profile_exists(
				gi->model, gi->gi_profile, &dnv_ci_profiles[i]))
			return (int)i;
	return -1;
}

static void fill(const struct dnv_target *gi, const struct dnv_ci_profile *it,
	struct dnv_ci_profile_info *info)
{
	*info = (struct dnv_ci_profile_info){
		.id = it->number,
		.slices = it->slices,
		.max = it->span.n_starts,
		.sms = dnv_ci_sms(gi->model, gi->gi_profile, it),
		.copy_engines = gi->gi_profile->copy_engines,
		.decoders = gi->gi_profile->engines.decoders,
		.encoders = gi->gi_profile->engines.encoders,
		.jpegs = gi->gi_profile->engines.jpegs,
		.ofas = gi->gi_profile->engines.ofas,
	};
}

static int find_profile(struct dnv_handle *gi, uint32_t index, uint32_t engines,
	struct dnv_target *target, const struct dnv_ci_profile **ret)
{
	int profile, r = dnv_resolve(gi, DNV_KIND_GI, target);

	if (r)
		return r;
	if (index >= dnv_ci_profile_count || engines != ENGINES_SHARED)
		return DNV_INVALID_ARGUMENT;
	profile = dnv_ci_profile_of(target, index);
	if (profile < 0)
		return DNV_NOT_SUPPORTED;
	*ret = &dnv_ci_profiles[profile];
	return DNV_SUCCESS;
}

int dnv_nvmlGpuInstanceGetComputeInstanceProfileInfo(struct dnv_handle *gi,
	uint32_t index, uint32_t engines, struct dnv_ci_profile_info *info)
{
	struct dnv_target target;
	const struct dnv_ci_profile *it;
	int r = find_profile(gi, index, engines, &target, &it);

	if (r)
		return r;
	if (!info)
		return DNV_INVALID_ARGUMENT;
	fill(&target, it, info);
	return DNV_SUCCESS;
}

int dnv_nvmlGpuInstanceGetComputeInstanceProfileInfoV(struct dnv_handle *gi,
	uint32_t index, uint32_t engines, struct dnv_ci_profile_info_v3 *info)
{
	struct dnv_target target;
	const struct dnv_ci_profile *it;
	int r;

	if (!info)
		return DNV_INVALID_ARGUMENT;
	if (info->version != DNV_CI_PROFILE_INFO_V2 &&
		info->version != DNV_VERSION(*info, 3))
		return DNV_ARGUMENT_VERSION_MISMATCH;
	r = find_profile(gi, index, engines, &target, &it);
	if (r)
		return r;
	fill(&target, it, &info->v1);
	memset(info->name, 0, sizeof(info->name));
	dnv_ci_name(target.gi_profile, it, info->name, sizeof(info->name));
	if (info->version == DNV_VERSION(*info, 3))
		info->capabilities = target.gi_profile->gfx ? DNV_CI_CAN_GFX : 0;
	return DNV_SUCCESS;
}

int dnv_nvmlGpuInstanceGetComputeInstanceRemainingCapacity(
	struct dnv_handle *gi, uint32_t profile_id, uint32_t *count)
{
	struct dnv_target target;
	int profile, r = dnv_resolve_for(gi, DNV_KIND_GI, count, &target);

	if (r)
		return r;
	if (dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	profile = dnv_ci_profile_of(&target, profile_id);
	if (profile < 0)
		return DNV_NOT_SUPPORTED;
	*count = dnv_ci_capacity(target.gi, (unsigned)profile);
	return DNV_SUCCESS;
}

int dnv_nvmlGpuInstanceGetComputeInstancePossiblePlacements(struct dnv_handle *gi,
	uint32_t profile_id, struct dnv_placement *ret, uint32_t *count)
{
	struct dnv_target target;
	int profile, r = dnv_resolve_for(gi, DNV_KIND_GI, count, &target);

	if (r)
		return r;
	if (dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	profile = dnv_ci_profile_of(&target, profile_id);
	if (profile < 0)
		return DNV_NOT_SUPPORTED;
	return dnv_span_answer(&dnv_ci_profiles[profile].span, ret, count);
}
