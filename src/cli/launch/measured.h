/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/lengths.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a program was seen to do, and what follows from it. */

#define CLV_MEASURED_WINDOW_MS 100u

struct clv_measured_sample {
	uint64_t time_ns;
	double held_s, waited_s;
	uint64_t memory_bytes, n_refused;
};

struct clv_measured {
	struct clv_measured_sample *samples;
	size_t n;
	struct clv_lengths lengths;
};

/* Its lease, as it is now. */
void clv_measured_add(
	struct clv_measured *measured, uint64_t now_ns, const json_t *lease);
void clv_measured_done(struct clv_measured *measured);

/* NULL: it was too short.  profiles: what the API says of the lease's device, or NULL. */
json_t *clv_measured_report(const struct clv_measured *measured, const json_t *lease,
	const json_t *profiles, char *const *argv);

/* For people. */
void clv_measured_print(const json_t *report, FILE *to);
