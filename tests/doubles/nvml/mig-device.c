/* SPDX-License-Identifier: Apache-2.0 */
#include "mig-device.h"
#include "call.h"
#include <stdio.h>
#include <string.h>

static bool is_before(const struct dnv_gi *gi, const struct dnv_ci *ci,
	const struct dnv_gi *other_gi, const struct dnv_ci *other)
{
	return gi->id != other_gi->id ? gi->id < other_gi->id : ci->id < other->id;
}

static unsigned count_before(const struct dnv_gpu_state *state, const struct dnv_gi *gi,
	const struct dnv_ci *ci)
{
	unsigned n = 0;

	for (unsigned i = 0; i < DNV_GIS_MAX; i++)
		for (unsigned k = 0; k < DNV_CIS_MAX; k++) {
			const struct dnv_gi *other = &state->gis[i];

			n += other->serial && other->cis[k].serial &&
			     is_before(other, &other->cis[k], gi, ci);
		}
	return n;
}

static uint32_t index_of(const struct dnv_gpu *config, const struct dnv_gpu_state *state,
	const struct dnv_gi *gi, const struct dnv_ci *ci)
{
	return config->packed ? count_before(state, gi, ci) : ci->mig_index;
}

uint32_t dnv_mig_index(const struct dnv_target *mig)
{
	return index_of(mig->config, mig->state, mig->gi, mig->ci);
}

struct dnv_handle *dnv_mig_at(unsigned gpu, unsigned index)
{
	const struct dnv_gpu_state *state = &dnv_mig_view()->gpus[gpu];
	const struct dnv_gpu *config = &dnv_node()->gpus[gpu];

	for (unsigned i = 0; i < DNV_GIS_MAX; i++)
		for (unsigned k = 0; k < DNV_CIS_MAX; k++) {
			const struct dnv_gi *gi = &state->gis[i];
			const struct dnv_ci *ci = &gi->cis[k];

			if (gi->serial && ci->serial &&
				index_of(config, state, gi, ci) == index)
				return dnv_handle_mig(gpu, index, ci->serial);
		}
	return NULL;
}

uint32_t dnv_mig_free_index(const struct dnv_gpu_state *gpu)
{
	uint32_t taken = 0;

	for (unsigned i = 0; i < DNV_GIS_MAX; i++)
		for (unsigned k = 0; k < DNV_CIS_MAX; k++)
			if (gpu->gis[i].serial && gpu->gis[i].cis[k].serial)
				taken |= 1U << gpu->gis[i].cis[k].mig_index;
	return (uint32_t)__builtin_ctz(~taken);
}

void dnv_mig_uuid(const struct dnv_target *mig, bool legacy, char ret[96])
{
	char old[96], uuid[37];

	snprintf(old, sizeof(old), "MIG-%s/%u/%u", mig->config->uuid, mig->gi->id,
		mig->ci->id);
	dnv_uuid_of(old, uuid);
	if (legacy)
		memcpy(ret, old, sizeof(old));
	else
		snprintf(ret, 96, "MIG-%s", uuid);
}

bool dnv_mig_has_uuid(const struct dnv_handle *handle, const char *uuid)
{
	struct dnv_target target;
	char text[96];

	if (dnv_resolve(handle, DNV_KIND_MIG, &target) != DNV_SUCCESS)
		return false;
	dnv_mig_uuid(&target, true, text);
	if (strcmp(text, uuid) == 0)
		return true;
	dnv_mig_uuid(&target, false, text);
	return !dnv_node()->legacy_uuids && strcmp(text, uuid) == 0;
}

DNV_TELLS(nvmlDeviceGetMaxMigDeviceCount, DNV_KIND_GPU, uint32_t,
	target.state->mig ? target.model->slices : 0)

int dnv_nvmlDeviceGetMigDeviceHandleByIndex(
	struct dnv_handle *device, uint32_t index, struct dnv_handle **ret)
{
	struct dnv_target target;
	struct dnv_handle *handle;
	int r = dnv_resolve_mig_gpu(device, &target);

	if (r)
		return r;
	if (!ret || index >= target.model->slices)
		return DNV_INVALID_ARGUMENT;
	handle = dnv_mig_at(target.gpu, index);
	if (!handle)
		return DNV_NOT_FOUND;
	*ret = handle;
	return DNV_SUCCESS;
}

DNV_TELLS(nvmlDeviceIsMigDeviceHandle, DNV_KIND_GPU | DNV_KIND_MIG, uint32_t,
	target.kind == DNV_KIND_MIG)

DNV_TELLS(nvmlDeviceGetGpuInstanceId, DNV_KIND_MIG, uint32_t, target.gi->id)

DNV_TELLS(nvmlDeviceGetComputeInstanceId, DNV_KIND_MIG, uint32_t, target.ci->id)

DNV_TELLS(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, DNV_KIND_MIG, struct dnv_handle *,
	dnv_handle_gpu(target.gpu))
