/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "state.h"

/* Which instances may live beside which, and where the driver puts one that may be
 * anywhere. */

/* DNV_SUCCESS, DNV_INVALID_ARGUMENT for a place that the profile does not have, or
 * DNV_INSUFFICIENT_RESOURCES. */
int dnv_gi_fits(const struct dnv_model *model, const struct dnv_gpu_state *gpu,
	unsigned profile, struct dnv_placement at);

/* Where the driver puts it: false if nowhere. */
bool dnv_gi_place(const struct dnv_model *model, const struct dnv_gpu_state *gpu,
	unsigned profile, struct dnv_placement *ret);

/* How many more of this profile there could be. */
unsigned dnv_gi_capacity(
	const struct dnv_model *model, const struct dnv_gpu_state *gpu, unsigned profile);

/* The same inside a GPU instance. */
int dnv_ci_fits(const struct dnv_gi *gi, unsigned profile, struct dnv_placement at);
bool dnv_ci_place(const struct dnv_model *model, const struct dnv_gi *gi,
	unsigned profile, struct dnv_placement *ret);
unsigned dnv_ci_capacity(const struct dnv_gi *gi, unsigned profile);
