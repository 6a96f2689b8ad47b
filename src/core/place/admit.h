/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

/* Admission control that raises the number of accepted requests.  A request with a known
 * duration counts as one acceptance whatever its size, and costs devices times time.
 * When the fleet is nearly full the expensive requests are refused, so that more are
 * accepted in total.
 *
 * This trades use of the devices, and the large and long requests, for acceptances.  It
 * is off unless requested. */
struct clv_admit {
	/* Sum of thousandths of a device times seconds over the requests seen, and their
	 * number. */
	double milli_s;
	uint64_t n;
};

/* Records a request, accepted or not. */
void clv_admit_record(struct clv_admit *admit, uint32_t milli, int64_t stays_s);

/* Whether the request is worth its cost, given how much of the fleet is free. */
bool clv_admit_is_worth(const struct clv_admit *admit, const struct clv_fleet *fleet,
	uint32_t milli, int64_t stays_s);
