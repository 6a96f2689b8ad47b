/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

/* The devices of a fleet that are held, and what its nodes draw, integrated over time.
 * Zeroed: at time 0. */
struct clv_busy {
	int64_t now_s;
	double device_s, joules;
};

/* Lets time pass until now_s; the fleet is still as it was since the last call. */
static inline void clv_busy_pass(
	struct clv_busy *busy, const struct clv_fleet *fleet, int64_t now_s)
{
	if (now_s <= busy->now_s)
		return;
	busy->device_s += (double)fleet->held_milli / CLV_PLACE_WHOLE *
			  (double)(now_s - busy->now_s);
	busy->joules += (double)fleet->watts * (double)(now_s - busy->now_s);
	busy->now_s = now_s;
}
