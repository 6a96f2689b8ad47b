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
	struct clv_departure *items; /* also of leases that have moved since */
	size_t n, room;
	int64_t *ends; /* by lease: what is true; or CLV_DEPARTURES_NEVER */
	uint32_t n_leases;
};

#define CLV_DEPARTURES_NEVER INT64_MIN

/* -ENOMEM, and nothing is added. */
int clv_departures_add(struct clv_departures *departures, int64_t at_s, uint32_t lease);
/* Leases have got other numbers, all at once.  -ENOMEM. */
int clv_departures_follow(struct clv_departures *departures, const uint32_t *from,
	const uint32_t *to, unsigned n);
/* False: none ends at that time or before. */
bool clv_departures_take(
	struct clv_departures *departures, int64_t until_s, struct clv_departure *ret);
void clv_departures_done(struct clv_departures *departures);
