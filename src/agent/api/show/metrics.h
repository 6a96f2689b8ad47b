/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clv_agent;

/* More leases than this, the oldest first, have no metrics of their own; they are in
 * those of devices and tenants, and cleave_leases_without_metrics says how many they are.
 */
#define CLV_METRICS_LEASES_MAX 1000u

/* All metrics as text, to be freed; NULL without memory. */
char *clv_metrics_to_text(
	struct clv_agent *agent, bool is_open_metrics, size_t *ret_n_bytes);
