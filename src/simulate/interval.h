/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Between which figures one more draw is, from the figures of n independent draws.
 *
 * Of n draws and one more, each rank of the last one is equally probable, whatever the
 * distribution is: it is below the k-th smallest or above the k-th largest with a
 * probability of 2k / (n + 1).  Equal figures only make it more probable that it is
 * inside. */
struct clv_interval {
	double mean;
	double from, to; /* the k-th smallest and the k-th largest */
	double inside;   /* the least probability of one more draw between them, 0..1 */
};

/* The narrowest interval for which inside is at least wanted; with too few draws for
 * that, the widest.  figures: n of them, at least one; they are sorted. */
struct clv_interval clv_interval_of(double *figures, size_t n, double wanted);
