/* SPDX-License-Identifier: Apache-2.0 */
/* Admission by cost and free capacity. */
#include "core/place/admit.h"
#include "core/fleet/fleet.h"

#include <math.h>

/* The most that a request may cost on an empty fleet, as a multiple of the mean; it falls
 * with the square root of the free part, to 0 on a full fleet.  The value was chosen on
 * pooled capacity, where placement does not matter and results are flat from 12 to 20,
 * and then on the mixes of docs/placement.md. */
#define MOST_TIMES_MEAN 18.0

void clv_admit_record(struct clv_admit *admit, uint32_t milli, int64_t stays_s)
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
