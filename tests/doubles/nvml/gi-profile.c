/* SPDX-License-Identifier: Apache-2.0 */
#include "gi-profile.h"
#include "call.h"
#include "layout.h"
#include <stdio.h>

/* Profiles of GPU instances. */

static const struct dnv_gi_profile *by_index(
	const struct dnv_model *model, uint32_t index)
{
	for (size_t i = 0; i < model->n_profiles; i++)
		if (model->profiles[i].index == index)
			return &model->profiles[i];
	return NULL;
}

int dnv_gi_profile_by_id(const struct dnv_model *model, uint32_t id)
{
	for (size_t i = 0; i < model->n_profiles; i++)
		if (model->profiles[i].id == id &&
			dnv_gi_profile_exists(&model->profiles[i]))
			return (int)i;
	return -1;
}

/* Headers before R510 require the mode, later ones a device that can have it; the text of
 * the versioned call still requires the mode. */
static int check_mode(const struct dnv_target *target)
{
	bool needs_mode = DNV_DRIVER < 580 || target->config->profiles_only_in_mig;

	return needs_mode && !target->state->mig ? DNV_NOT_SUPPORTED : DNV_SUCCESS;
}

/* Every version has these members. */
#define FIGURES(it)                                                                 \
	.id = (it)->id, .slices = (it)->slices, .max = (it)->max, .sms = (it)->sms, \
	.copy_engines = (it)->copy_engines, .decoders = (it)->engines.decoders,     \
	.encoders = (it)->engines.encoders, .jpegs = (it)->engines.jpegs,           \
	.ofas = (it)->engines.ofas, .memory_mib = (it)->memory_mib

static int find_profile(struct dnv_handle *device, uint32_t index, const void *info,
	const struct dnv_gi_profile **ret)
{
	struct dnv_target target;
	int r = dnv_resolve_mig_gpu(device, &target);

	if (r)
		return r;
	if (!info || index >= dnv_gi_profile_count)
		return DNV_INVALID_ARGUMENT;
	*ret = by_index(target.model, index);
	return *ret ? check_mode(&target) : DNV_NOT_SUPPORTED;
}

int dnv_nvmlDeviceGetGpuInstanceProfileInfo(
	struct dnv_handle *device, uint32_t index, struct dnv_gi_profile_info *info)
{
	const struct dnv_gi_profile *it;
	int r = find_profile(device, index, info, &it);

	if (r)
		return r;
	*info = (struct dnv_gi_profile_info){
		FIGURES(it),
	};
	return DNV_SUCCESS;
}

static void fill_v2(const struct dnv_gi_profile *it, struct dnv_gi_profile_info_v2 *info)
{
	*info = (struct dnv_gi_profile_info_v2){
		.version = info->version,
		FIGURES(it),
	};
	snprintf(info->name, sizeof(info->name), "MIG %s", it->name);
}

static void fill_v3(const struct dnv_gi_profile *it, struct dnv_gi_profile_info_v3 *info)
{
	*info = (struct dnv_gi_profile_info_v3){
		.version = info->version,
		FIGURES(it),
		.capabilities = it->gfx ? DNV_GI_CAN_GFX : 0,
	};
	snprintf(info->name, sizeof(info->name), "MIG %s", it->name);
}

int dnv_nvmlDeviceGetGpuInstanceProfileInfoV(
	struct dnv_handle *device, uint32_t index, void *info)
{
	const struct dnv_gi_profile *it;
	const uint32_t *version = info;
	int r = find_profile(device, index, info, &it);

	if (r == DNV_INVALID_ARGUMENT && !info)
		return r;
	/* Both have the same size and differ only in the top byte. */
	if (info && *version != DNV_VERSION(struct dnv_gi_profile_info_v2, 2) &&
		*version != DNV_VERSION(struct dnv_gi_profile_info_v3, 3))
		return DNV_ARGUMENT_VERSION_MISMATCH;
	if (r)
		return r;
	if (*version == DNV_VERSION(struct dnv_gi_profile_info_v2, 2))
		fill_v2(it, info);
	else
		fill_v3(it, info);
	return DNV_SUCCESS;
}

/* The placements of a profile, regardless of current instances. */
static int find_span(struct dnv_handle *device, uint32_t profile_id,
	const uint32_t *count, bool needs_mode, const struct dnv_span **ret)
{
	struct dnv_target target;
	int profile, r = dnv_resolve_mig_gpu(device, &target);

	if (r)
		return r;
	if (!count)
		return DNV_INVALID_ARGUMENT;
	if (dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	profile = dnv_gi_profile_by_id(target.model, profile_id);
	if (profile < 0 || (needs_mode && !target.state->mig))
		return DNV_NOT_SUPPORTED;
	*ret = &target.model->profiles[profile].span;
	return DNV_SUCCESS;
}

void dnv_span_list(const struct dnv_span *span, struct dnv_placement *ret)
{
	for (unsigned i = 0; i < span->n_starts; i++)
		ret[i] = (struct dnv_placement){span->starts[i], span->size};
}

/* The first form trusts the caller's array to be large enough. */
int dnv_nvmlDeviceGetGpuInstancePossiblePlacements(struct dnv_handle *device,
	uint32_t profile_id, struct dnv_placement *ret, uint32_t *count)
{
	const struct dnv_span *span;
	int r = find_span(device, profile_id, count, true, &span);

	if (r)
		return r;
	if (!ret)
		return DNV_INVALID_ARGUMENT;
	dnv_span_list(span, ret);
	*count = span->n_starts;
	return DNV_SUCCESS;
}

int dnv_span_answer(
	const struct dnv_span *span, struct dnv_placement *ret, uint32_t *count)
{
	uint32_t room = *count;

	*count = span->n_starts;
	if (!ret)
		return DNV_SUCCESS;
	if (room < span->n_starts)
		return DNV_INSUFFICIENT_SIZE;
	dnv_span_list(span, ret);
	return DNV_SUCCESS;
}

int dnv_nvmlDeviceGetGpuInstancePossiblePlacements_v2(struct dnv_handle *device,
	uint32_t profile_id, struct dnv_placement *ret, uint32_t *count)
{
	const struct dnv_span *span;
	int r = find_span(device, profile_id, count, DNV_DRIVER < 580, &span);

	return r ? r : dnv_span_answer(span, ret, count);
}

int dnv_nvmlDeviceGetGpuInstanceRemainingCapacity(
	struct dnv_handle *device, uint32_t profile_id, uint32_t *count)
{
	struct dnv_target target;
	int profile, r = dnv_resolve_mig_on(device, &target);

	if (r)
		return r;
	if (!count)
		return DNV_INVALID_ARGUMENT;
	if (dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	profile = dnv_gi_profile_by_id(target.model, profile_id);
	if (profile < 0)
		return DNV_NOT_SUPPORTED;
	*count = dnv_gi_capacity(target.model, target.state, (unsigned)profile);
	return DNV_SUCCESS;
}
