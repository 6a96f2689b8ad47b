/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../../gpu/client/effect.h"
#include "objects.h"

/* A copy or a fill, as a command of a stream or a node of a graph. */
struct transfer {
	struct effect *effect;
	bool from_device, to_device;
	bool pageable; /* one side is pageable host memory */
	uint64_t bytes;
	/* The parameters as requested; is_set: of a fill. */
	bool is_set;
	struct copy_3d copy;
	struct set_params set;
};

/* These return a CUresult. */
int dcu_transfer_1d(uint64_t dst, uint64_t src, size_t bytes, struct transfer *ret);
int dcu_transfer_2d(const struct copy_2d *c, struct transfer *ret);
int dcu_transfer_3d(const struct copy_3d *c, struct transfer *ret);
int dcu_transfer_fill(uint64_t dst, size_t pitch, uint32_t value, unsigned element,
	size_t width, size_t height, struct transfer *ret);

/* Returns the command; it has no pointers to memory that the caller may change. */
struct dgp_cmd dcu_transfer_cmd(const struct transfer *t);
int dcu_transfer_push(struct stream *stream, struct transfer *t, bool is_async);
