/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

/* Refusing what would keep many others out.  A request that says for how long it stays is
 * worth one acceptance whatever its size; what it costs is devices times time.  When the
 * fleet is nearly full the expensive ones are refused, so that more are accepted in all.
 *
 * This trades use of the devices, and the large and long requests, for acceptances: it is
 * for those who count these, and off unless asked for. */
struct clv_admit {
	/* Device-seconds of the requests seen, and how many they were. */
	double milli_s;
	uint64_t n;
};

/* What comes, taken or not. */
void clv_admit_see(struct clv_admit *admit, uint32_t milli, int64_t stays_s);

/* Whether the request is worth its place, now that so much of the fleet is free. */
bool clv_admit_is_worth(const struct clv_admit *admit, const struct clv_fleet *fleet,
	uint32_t milli, int64_t stays_s);
