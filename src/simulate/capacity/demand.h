/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;
struct clv_fleet;
struct clv_source_options;

/* The most that the requests of a trace hold at one time, if none is refused and none
 * waits; without times, all of them together. */
struct clv_demand {
	double milli; /* compute, in thousandths of a device */
	double cpu_milli, memory_mib;
};

/* The fleet is borrowed; only its models and schemes are used. */
int clv_demand_measure(const char *trace_path, const struct clv_fleet *fleet,
	const struct clv_source_options *options, struct clv_demand *ret,
	struct clv_error *err);
