/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "objects.h"

/* Where a copy's rows are in an array, as a CUresult. */
int dcu_array_side(const struct copy_3d_side *side, const struct copy_3d *c,
	char **ret_at, size_t *ret_pitch, size_t *ret_slice);
