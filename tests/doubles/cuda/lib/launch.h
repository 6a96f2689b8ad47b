/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../../gpu/client/effect.h"
#include "module.h"

/* One launch of a function. */
struct launch {
	struct func *func;
	unsigned grid[3], block[3], shared_bytes;
	struct func_args args;
};

/* Fills in the parameters; returns a CUresult, which is not 0 for a launch that is not
 * possible. */
int dcu_launch_prepare(struct launch *launch, void **params, void **extra);

/* Returns the command with its duration; the caller owns its effect until it is
 * pushed. */
struct dgp_cmd dcu_launch_cmd(const struct launch *launch);
int dcu_launch_push(struct stream *stream, const struct launch *launch);

/* Makes the stream wait for a word of the process's memory, or write it. */
int dcu_wait_at(
	struct stream *handle, void *at, uint64_t value, unsigned how, unsigned bytes);
int dcu_write_at(struct stream *handle, void *at, uint64_t value, unsigned bytes);
