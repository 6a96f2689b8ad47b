/* SPDX-License-Identifier: Apache-2.0 */
#include "core/place/admit.h"
#include "core/fleet/fleet.h"

#include <math.h>

/* On an empty fleet a request may cost so many times what the average one does; on a full
 * one nothing, and in between as the root of what is free.  Chosen on pooled capacity,
 * where no placement matters and it is flat from 12 to 20, and then on the mixes of
 * docs/placement.md. */
#define MOST_TIMES_MEAN 18.0

void clv_admit_see(struct clv_admit *admit, uint32_t milli, int64_t stays_s)
{
	admit->milli_s += (double)milli * (double)stays_s;
	admit->n++;
}

bool clv_admit_is_worth(const struct clv_admit *admit, const struct clv_fleet *fleet,
	uint32_t milli, int64_t stays_s)
{
	double mean, part_free;

	if (admit->n == 0 || fleet->milli == 0)
		return true;
	mean = admit->milli_s / (double)admit->n;
	part_free = (double)(fleet->milli - fleet->held_milli) / (double)fleet->milli;
	return (double)milli * (double)stays_s <=
	       MOST_TIMES_MEAN * mean * sqrt(part_free);
}
