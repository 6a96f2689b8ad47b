/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A limit in space, beside the share in time: how many of a device's multiprocessors
 * (NVIDIA) or compute units (AMD) a lease may use at once, and where they begin. */
struct clv_sm {
	uint32_t ppm; /* of the device's; 0: no limit */
	uint32_t first_ppm;
};

/* The same, counted. */
struct clv_sm_part {
	uint32_t first, count;
};

/* Where a part of this size begins best: where it has least in common with the others,
 * and of such places at the first. */
uint32_t clv_sm_place(const struct clv_sm *others, size_t n_others, uint32_t ppm);

/* In which numbers a device's can be had. */
struct clv_sm_steps {
	uint32_t step, least; /* a multiple of step */
};

/* Rounded down, and at least the least; nothing where there is no limit.  Parts with
 * nothing in common have none counted either, but for the least ones. */
struct clv_sm_part clv_sm_count(
	const struct clv_sm *sm, uint32_t n_units, const struct clv_sm_steps *steps);
