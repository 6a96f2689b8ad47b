/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/place/frag.h"

/* Shapes of several devices with equal needs per device. */
struct clv_frag_multi {
	uint32_t device_mib;
	uint16_t milli;
	uint8_t n_devices;
	bool *fits_level;
};

struct clv_frag {
	int32_t weight; /* of all shapes */
	unsigned n_models, n_schemes;
	/* Free processors at which another shape fits, ascending, padded with UINT32_MAX
	 * to a length that suits the search by halves. */
	uint32_t *cpu;
	unsigned cpu_span; /* first step of the search */
	unsigned n_cpu_rows;
	uint8_t level_of_milli[CLV_PLACE_WHOLE + 1];
	uint32_t *mib; /* free memory at which another shape fits, ascending */
	unsigned n_milli_levels, n_mib_levels, n_levels;
	int32_t *takes; /* [row][level] */
	struct clv_frag_multi *multi;
	unsigned n_multi;
	int32_t *takes_multi;  /* [row][multi] */
	int32_t **takes_units; /* by scheme: [units] */
};
