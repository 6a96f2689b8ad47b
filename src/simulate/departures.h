/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A priority queue of leases by their end (a binary heap).  Of equal times the lower
 * number of a lease is first, so that a replay is deterministic.  Zeroed: empty. */
struct clv_departure {
	int64_t at_s;
	uint32_t lease;
};

struct clv_departures {
	/* the heap, with stale entries of leases that have moved */
	struct clv_departure *items;
	size_t n, room;
	int64_t *ends; /* by lease: its end, or CLV_DEPARTURES_NEVER */
	uint32_t n_leases;
};

#define CLV_DEPARTURES_NEVER INT64_MIN

/* Returns 0, or -ENOMEM and nothing is added. */
int clv_departures_add(struct clv_departures *departures, int64_t at_s, uint32_t lease);
/* Renumbers n leases at once.  Returns 0 or -ENOMEM. */
int clv_departures_follow(struct clv_departures *departures, const uint32_t *from,
	const uint32_t *to, unsigned n);
/* Removes the next lease that ends at until_s or before; false if there is none. */
bool clv_departures_take(
	struct clv_departures *departures, int64_t until_s, struct clv_departure *ret);
/* Whether a lease will end, and when the next one does. */
bool clv_departures_peek(struct clv_departures *departures, int64_t *ret_s);
/* Returns when the lease would have ended, or CLV_DEPARTURES_NEVER. */
int64_t clv_departures_cancel(struct clv_departures *departures, uint32_t lease);
/* Undoes clv_departures_cancel() if no lease was taken or looked at since. */
void clv_departures_restore(
	struct clv_departures *departures, uint32_t lease, int64_t at_s);
/* Returns 0 or -ENOMEM.  ret is zeroed or empty. */
int clv_departures_copy(
	const struct clv_departures *departures, struct clv_departures *ret);
void clv_departures_done(struct clv_departures *departures);
