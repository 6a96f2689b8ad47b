/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cuda-work.h"

#include <stdatomic.h>
#include <stdio.h>

/* What the modes of cuda-bench share. */

struct options {
	double kernel_us, cal, gap_us, hz;
	uint64_t kernels, blocks, calls, hold_mib, slot_kib;
	const char *log;
};

struct tenant {
	struct options options;
	struct work work;
	FILE *log;
	atomic_int ended;
};

static inline uint64_t loops_of(const struct tenant *t)
{
	return (uint64_t)(t->options.kernel_us * t->work.loops_per_us);
}

/* The double does not run code, so the host writes the kernels' progress when they are
 * known to be complete. */
static inline void note_done(struct tenant *t, uint64_t loops)
{
	if (t->work.is_double)
		t->work.page->progress = loops;
}

/* Modes of several streams (cuda-streams.c). With `calls` they end by themselves, and
 * print the number of calls and each call that blocked the thread for long: "INDEX
 * US". */
void run_pipeline(struct tenant *t);
void run_two_streams(struct tenant *t);

/* Only copies, as fast as they go: into the device, within it. */
void run_copies_in(struct tenant *t);
void run_copies_within(struct tenant *t);
