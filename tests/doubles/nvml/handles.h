/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "state.h"

/* Handles are entries in tables of this process, one for each GPU, GPU instance, compute
 * instance and index in a GPU's list of MIG devices. A query binds the same handle to the
 * current instance, as the vendor documents: a stored handle may later mean another
 * instance. */

enum dnv_kind {
	DNV_KIND_GPU = 1 << 0,
	DNV_KIND_MIG = 1 << 1,
	DNV_KIND_GI = 1 << 2,
	DNV_KIND_CI = 1 << 3,
};

/* The object of a handle; members that do not apply are NULL. */
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

/* Invalidates every handle of this process. */
void dnv_handles_forget(void);

/* Creates and binds the handle. */
struct dnv_handle *dnv_handle_gpu(unsigned gpu);
struct dnv_handle *dnv_handle_gi(unsigned gpu, unsigned slot, uint64_t serial);
struct dnv_handle *dnv_handle_ci(
	unsigned gpu, unsigned gi_slot, unsigned slot, uint64_t serial);
struct dnv_handle *dnv_handle_mig(unsigned gpu, unsigned index, uint64_t ci_serial);

/* An invalid handle, for results that a caller must not use. */
struct dnv_handle *dnv_handle_bad(void);

/* Returns DNV_SUCCESS, DNV_INVALID_ARGUMENT for a pointer that is not a handle of these
 * kinds or whose object is gone, or DNV_GPU_IS_LOST. */
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
/* The same for handles of a MIG-capable GPU; DNV_NOT_SUPPORTED for others. */
int dnv_resolve_mig_gpu(const struct dnv_handle *handle, struct dnv_target *ret);
/* The same, with MIG mode on. */
int dnv_resolve_mig_on(const struct dnv_handle *handle, struct dnv_target *ret);
