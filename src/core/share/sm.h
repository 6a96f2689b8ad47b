/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A limit in space, beside the share in time: how many of a device's multiprocessors
 * (NVIDIA) or compute units (AMD) a lease may use at once, and where they begin. */
struct clv_sm {
	uint32_t ppm; /* part of the device's units; 0: no limit */
	uint32_t first_ppm;
};

/* The same in units. */
struct clv_sm_part {
	uint32_t first, count;
};

/* The start of a part of this size that overlaps the others least; of several such starts
 * the lowest. */
uint32_t clv_sm_place(const struct clv_sm *others, size_t n_others, uint32_t ppm);

/* Granularity in which units of a device can be assigned. */
struct clv_sm_steps {
	uint32_t step, least; /* least: a minimum, a multiple of step */
};

/* Converts a limit to units: rounded down to steps, but not below the minimum; {0} if
 * there is no limit.  Disjoint parts stay disjoint, unless the minimum enlarged one. */
struct clv_sm_part clv_sm_count(
	const struct clv_sm *sm, uint32_t n_units, const struct clv_sm_steps *steps);
