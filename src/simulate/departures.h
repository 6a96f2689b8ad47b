/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Leases by when they end: a binary heap.  Of equal times the lease with the lower number
 * is first, so that a replay is a function of what it is given.  Zeroed is empty. */
struct clv_departure {
	int64_t at_s;
	uint32_t lease;
};

struct clv_departures {
	struct clv_departure *items;
	size_t n, room;
};

/* -ENOMEM, and nothing is added. */
int clv_departures_add(struct clv_departures *departures, int64_t at_s, uint32_t lease);
/* False: none ends at that time or before. */
bool clv_departures_take(
	struct clv_departures *departures, int64_t until_s, struct clv_departure *ret);
void clv_departures_done(struct clv_departures *departures);
