/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "memory.h"

/* An array's texels, row after row; it takes multiples of 64 KiB of the device. */
struct array {
	uint32_t magic;
	struct ctx *ctx;
	struct array3d_shape shape;
	size_t element, pitch, slice, bytes;
	char *host;
	struct block block; /* of a level of a mip-map: the whole mip-map's */
	bool is_level, has_memory;
};

/* Where a copy's rows are in an array, as a CUresult. */
int dcu_array_side(const struct copy_3d_side *side, const struct copy_3d *c,
	char **ret_at, size_t *ret_pitch, size_t *ret_slice);
