/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "state.h"

/* Handles are places in tables of this process, one for each GPU, GPU instance, compute
 * instance and index in a GPU's list of MIG devices.  Asking again binds the same handle
 * to what is there then, as the vendor says of its own: a handle that was kept may come
 * to mean another instance. */

enum dnv_kind {
	DNV_KIND_GPU = 1 << 0,
	DNV_KIND_MIG = 1 << 1,
	DNV_KIND_GI = 1 << 2,
	DNV_KIND_CI = 1 << 3,
};

/* What a handle leads to; what it has nothing to do with is NULL. */
struct dnv_target {
	enum dnv_kind kind;
	unsigned gpu, gi_slot, ci_slot;
	const struct dnv_gpu *config;
	const struct dnv_model *model;
	const struct dnv_gpu_state *state;
	const struct dnv_gi *gi;
	const struct dnv_gi_profile *gi_profile;
	const struct dnv_ci *ci;
	const struct dnv_ci_profile *ci_profile;
};

/* Every handle of this process is void from now on. */
void dnv_handles_forget(void);

/* Makes and binds. */
struct dnv_handle *dnv_handle_gpu(unsigned gpu);
struct dnv_handle *dnv_handle_gi(unsigned gpu, unsigned slot, uint64_t serial);
struct dnv_handle *dnv_handle_ci(
	unsigned gpu, unsigned gi_slot, unsigned slot, uint64_t serial);
struct dnv_handle *dnv_handle_mig(unsigned gpu, unsigned index, uint64_t ci_serial);

/* What is no handle, and is written where a caller must not look. */
struct dnv_handle *dnv_handle_bad(void);

/* DNV_SUCCESS, DNV_INVALID_ARGUMENT for what is no handle of these kinds or leads to what
 * is gone, or DNV_GPU_IS_LOST. */
int dnv_resolve(const struct dnv_handle *handle, unsigned kinds, struct dnv_target *ret);

/* The same, and there must be room for the answer. */
int dnv_resolve_for(const struct dnv_handle *handle, unsigned kinds, const void *room,
	struct dnv_target *ret);

/* A call that tells one thing of what a handle leads to. */
#define DNV_TELLS(name, kinds, type, expression)                      \
	int dnv_##name(struct dnv_handle *device, type *ret)          \
	{                                                             \
		struct dnv_target target;                             \
		int r = dnv_resolve_for(device, kinds, ret, &target); \
                                                                      \
		if (!r)                                               \
			*ret = (expression);                          \
		return r;                                             \
	}
/* The same for handles of a GPU that can do MIG, DNV_NOT_SUPPORTED for others. */
int dnv_resolve_mig_gpu(const struct dnv_handle *handle, struct dnv_target *ret);
/* And with the mode on. */
int dnv_resolve_mig_on(const struct dnv_handle *handle, struct dnv_target *ret);
