/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/lengths.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Samples of a program's lease, and the report on them. */

#define CLV_MEASURED_WINDOW_MS 100u

struct clv_measured_sample {
	uint64_t time_ns;
	double held_s, waited_s;
	uint64_t memory_bytes, n_refused;
};

struct clv_measurement {
	struct clv_measured_sample *samples;
	size_t n;
	struct clv_lengths lengths;
};

/* Adds a sample from the current JSON object of the lease. */
void clv_measured_add(
	struct clv_measurement *measured, uint64_t now_ns, const json_t *lease);
void clv_measured_done(struct clv_measurement *measured);

/* Returns the report, or NULL if there are too few samples.  profiles is the API's answer
 * for the lease's device, or NULL; argv is the program's command line. */
json_t *clv_measured_report(const struct clv_measurement *measured, const json_t *lease,
	const json_t *profiles, char *const *argv);

/* Prints the report as text. */
void clv_measured_print(const json_t *report, FILE *to);
