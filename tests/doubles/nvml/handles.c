/* SPDX-License-Identifier: Apache-2.0 */
#include "handles.h"
#include "call.h"
#include <string.h>

struct dnv_handle {
	enum dnv_kind kind; /* 0: invalid */
	unsigned gpu, gi_slot, ci_slot;
	uint64_t serial; /* of the instance that it is bound to */
};

static struct {
	struct dnv_handle gpus[DNV_GPUS_MAX];
	struct dnv_handle migs[DNV_GPUS_MAX][DNV_MIGS_MAX];
	struct dnv_handle gis[DNV_GPUS_MAX][DNV_GIS_MAX];
	struct dnv_handle cis[DNV_GPUS_MAX][DNV_GIS_MAX][DNV_CIS_MAX];
} handles;

void dnv_handles_forget(void)
{
	memset(&handles, 0, sizeof(handles));
}

struct dnv_handle *dnv_handle_bad(void)
{
	static struct dnv_handle bad;

	return &bad;
}

struct dnv_handle *dnv_handle_gpu(unsigned gpu)
{
	handles.gpus[gpu] = (struct dnv_handle){.kind = DNV_KIND_GPU, .gpu = gpu};
	return &handles.gpus[gpu];
}

struct dnv_handle *dnv_handle_gi(unsigned gpu, unsigned slot, uint64_t serial)
{
	struct dnv_handle *handle = &handles.gis[gpu][slot];

	*handle = (struct dnv_handle){
		.kind = DNV_KIND_GI, .gpu = gpu, .gi_slot = slot, .serial = serial};
	return handle;
}

struct dnv_handle *dnv_handle_ci(
	unsigned gpu, unsigned gi_slot, unsigned slot, uint64_t serial)
{
	struct dnv_handle *handle = &handles.cis[gpu][gi_slot][slot];

	*handle = (struct dnv_handle){.kind = DNV_KIND_CI,
		.gpu = gpu,
		.gi_slot = gi_slot,
		.ci_slot = slot,
		.serial = serial};
	return handle;
}

struct dnv_handle *dnv_handle_mig(unsigned gpu, unsigned index, uint64_t ci_serial)
{
	struct dnv_handle *handle = &handles.migs[gpu][index];

	*handle = (struct dnv_handle){
		.kind = DNV_KIND_MIG, .gpu = gpu, .serial = ci_serial};
	return handle;
}

/* A caller may pass any pointer: it is dereferenced only if it is in our tables. */
static bool is_ours(const struct dnv_handle *handle)
{
	uintptr_t at = (uintptr_t)handle, first = (uintptr_t)&handles;

	return at >= first && at < first + sizeof(handles) &&
	       (at - first) % sizeof(*handle) == 0;
}

static void set_gi(struct dnv_target *target, unsigned slot)
{
	target->gi_slot = slot;
	target->gi = &target->state->gis[slot];
	target->gi_profile = &target->model->profiles[target->gi->profile];
}

static void set_ci(struct dnv_target *target, unsigned slot)
{
	target->ci_slot = slot;
	target->ci = &target->gi->cis[slot];
	target->ci_profile = &dnv_ci_profiles[target->ci->profile];
}

static bool find_mig(struct dnv_target *target, uint64_t serial)
{
	for (unsigned i = 0; i < DNV_GIS_MAX; i++)
		for (unsigned k = 0; k < DNV_CIS_MAX; k++) {
			const struct dnv_gi *gi = &target->state->gis[i];

			if (!gi->serial || gi->cis[k].serial != serial)
				continue;
			set_gi(target, i);
			set_ci(target, k);
			return true;
		}
	return false;
}

static bool find(const struct dnv_handle *handle, struct dnv_target *ret)
{
	switch (handle->kind) {
	case DNV_KIND_GPU:
		return true;
	case DNV_KIND_MIG:
		ret->state = &dnv_mig_view()->gpus[handle->gpu];
		return find_mig(ret, handle->serial);
	case DNV_KIND_GI:
		set_gi(ret, handle->gi_slot);
		return ret->gi->serial == handle->serial;
	case DNV_KIND_CI:
		set_gi(ret, handle->gi_slot);
		set_ci(ret, handle->ci_slot);
		return ret->gi->serial && ret->ci->serial == handle->serial;
	}
	return false;
}

int dnv_resolve(const struct dnv_handle *handle, unsigned kinds, struct dnv_target *ret)
{
	if (!is_ours(handle) || !(handle->kind & kinds) ||
		handle->gpu >= dnv_node()->n_gpus)
		return DNV_INVALID_ARGUMENT;
	*ret = (struct dnv_target){
		.kind = handle->kind,
		.gpu = handle->gpu,
		.config = &dnv_node()->gpus[handle->gpu],
		.model = dnv_node()->gpus[handle->gpu].model,
		.state = &dnv_state()->gpus[handle->gpu],
	};
	if (ret->state->lost)
		return DNV_GPU_IS_LOST;
	return find(handle, ret) ? DNV_SUCCESS : DNV_INVALID_ARGUMENT;
}

int dnv_resolve_for(const struct dnv_handle *handle, unsigned kinds, const void *room,
	struct dnv_target *ret)
{
	int r = dnv_resolve(handle, kinds, ret);

	return r || room ? r : DNV_INVALID_ARGUMENT;
}

int dnv_resolve_mig_gpu(const struct dnv_handle *handle, struct dnv_target *ret)
{
	int r = dnv_resolve(handle, DNV_KIND_GPU, ret);

	return !r && !ret->model->grid ? DNV_NOT_SUPPORTED : r;
}

int dnv_resolve_mig_on(const struct dnv_handle *handle, struct dnv_target *ret)
{
	int r = dnv_resolve_mig_gpu(handle, ret);

	return !r && !ret->state->mig ? DNV_NOT_SUPPORTED : r;
}
