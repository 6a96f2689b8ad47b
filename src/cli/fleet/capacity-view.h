/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct clv_fleet;
struct clv_node_notes;
struct clv_runs;

/* cleave simulate --accept. */

struct clv_capacity_settings {
	uint64_t most_nodes, most_trials; /* 0: the defaults */
	uint32_t accept_ppm;
};

/* Finds and prints the cheapest nodes for the trace of runs, by the policy of its first
 * run.  Returns the exit code. */
int clv_capacity_show(const struct clv_capacity_settings *settings, const char *format,
	const struct clv_runs *runs, const struct clv_fleet *fleet,
	const struct clv_node_notes *notes);
