/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* How far measured slowdowns are from those of clv_predict(), from pairs of programs that
 * were drawn, predicted and measured.
 *
 * A pair has one figure, the larger factor between a measured and a predicted slowdown of
 * its two programs, in either direction.  Of n pairs and one more, drawn alike, each rank
 * of the last one is equally probable, whatever the distribution is: its figure is at
 * most the k-th smallest with a probability of k / (n + 1). */
struct clv_predict_margin {
	double factor; /* at least 1: from slowdown / factor to slowdown * factor */
	double inside; /* the least probability that both of one more pair are, 0..1 */
	size_t n_pairs;
};

/* The least factor for which inside is at least wanted; with too few pairs for that, the
 * largest.  figures: n of them in rising order, at least one. */
struct clv_predict_margin clv_predict_margin_of(
	const double *figures, size_t n, double wanted);

/* The same for the pairs that are measured. */
struct clv_predict_margin clv_predict_margin(double wanted);
