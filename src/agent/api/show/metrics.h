/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clv_agent;

/* Every active lease has metrics of what it was promised, and those in which a program
 * has run have metrics of its work too: only so many leases, the oldest ones.  The others
 * count in the metrics of devices and tenants; cleave_leases_without_metrics is their
 * number. */
#define CLV_METRICS_WORKED_MAX 1000u

/* All metrics in the format of Prometheus or OpenMetrics, to be freed; NULL without
 * memory. */
char *clv_metrics_to_text(
	struct clv_agent *agent, bool is_open_metrics, size_t *ret_n_bytes);
