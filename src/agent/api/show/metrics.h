/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clv_agent;

/* Only so many leases, the oldest ones, have metrics of their own.  The others count in
 * those of devices and tenants; cleave_leases_without_metrics is their number. */
#define CLV_METRICS_LEASES_MAX 1000u

/* All metrics in the format of Prometheus or OpenMetrics, to be freed; NULL without
 * memory. */
char *clv_metrics_to_text(
	struct clv_agent *agent, bool is_open_metrics, size_t *ret_n_bytes);
