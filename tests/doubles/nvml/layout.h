/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "state.h"

/* Which instances fit beside each other, and where the driver places one without a given
 * placement. */

/* DNV_SUCCESS, DNV_INVALID_ARGUMENT for a placement that the profile does not have, or
 * DNV_INSUFFICIENT_RESOURCES. */
int dnv_gi_fits(const struct dnv_model *model, const struct dnv_gpu_state *gpu,
	unsigned profile, struct dnv_placement at);

/* The placement that the driver chooses: false if there is none. */
bool dnv_gi_place(const struct dnv_model *model, const struct dnv_gpu_state *gpu,
	unsigned profile, struct dnv_placement *ret);

/* How many more instances of this profile fit. */
unsigned dnv_gi_capacity(
	const struct dnv_model *model, const struct dnv_gpu_state *gpu, unsigned profile);

/* The same inside a GPU instance. */
int dnv_ci_fits(const struct dnv_gi *gi, unsigned profile, struct dnv_placement at);
bool dnv_ci_place(const struct dnv_model *model, const struct dnv_gi *gi,
	unsigned profile, struct dnv_placement *ret);
unsigned dnv_ci_capacity(const struct dnv_gi *gi, unsigned profile);
