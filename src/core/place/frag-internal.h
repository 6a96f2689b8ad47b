/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/place/frag.h"

/* Shapes of several devices that are alike in what each of them needs. */
struct clv_frag_multi {
	uint32_t device_mib;
	uint16_t milli;
	uint8_t n_devices;
	bool *fits_level;
};

struct clv_frag {
	int32_t weight; /* of all shapes */
	unsigned n_models, n_schemes;
	/* Free processors at which another shape fits, rising, and filled up with the
	 * largest number there is to one less than a power of two. */
	uint32_t *cpu;
	unsigned cpu_span; /* half of that power */
	unsigned n_cpu_rows;
	uint8_t level_of_milli[CLV_PLACE_WHOLE + 1];
	uint32_t *mib; /* rising */
	unsigned n_milli_levels, n_mib_levels, n_levels;
	int32_t *takes; /* [row][level] */
	struct clv_frag_multi *multi;
	unsigned n_multi;
	int32_t *takes_multi;  /* [row][multi] */
	int32_t **takes_units; /* by scheme: [units] */
};
