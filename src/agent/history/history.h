/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/history/history-rows.h"

struct clv_agent;
struct clv_error;
struct clv_lease;

/* The history of usage: per second for an hour and per minute for a month, of devices,
 * partitions, active leases and tenants with leases, in one file of bounded size.  It is
 * for display and advice: a failure of the file is logged and refuses nothing.  Loop
 * thread only. */
struct clv_history;

struct clv_history *clv_history_new(struct clv_agent *agent);
struct clv_history *clv_history_free(struct clv_history *history);

/* Records this second.  To be called once a second, after the calls of clv_usage_add().
 */
void clv_history_tick(struct clv_history *history);

/* Ends the series of a lease that ends. */
void clv_history_end(struct clv_history *history, struct clv_lease *lease);

/* "device", "partition", "lease", "tenant". */
enum clv_history_kind clv_history_kind_from_string(const char *text, size_t n);

/* As clv_history_find() and clv_history_get(). */
bool clv_history_has(struct clv_history *history, struct clv_history_key *key);
int clv_history_rows(struct clv_history *history, const struct clv_history_key *key,
	uint32_t step, int64_t from, size_t n, struct clv_history_row *rows,
	bool *has_row, struct clv_error *err);

/* For the metrics. */
struct clv_history_state {
	uint64_t n_failed, n_damaged, n_bytes;
	uint32_t n_series;
};
void clv_history_get_state(
	const struct clv_history *history, struct clv_history_state *ret);
