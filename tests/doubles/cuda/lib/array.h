/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "memory.h"

/* An array's texels, row by row; it takes multiples of 64 KiB of the device. */
struct array {
	uint32_t magic;
	struct ctx *ctx;
	struct array3d_shape shape;
	size_t element, pitch, slice, bytes;
	char *host;
	struct block block; /* for a level of a mip-map: the whole mip-map's */
	bool is_level, has_memory;
};

/* Returns, as a CUresult, the rows of an array's side of a copy. */
int dcu_array_side(const struct copy_3d_side *side, const struct copy_3d *c,
	char **ret_at, size_t *ret_pitch, size_t *ret_slice);
