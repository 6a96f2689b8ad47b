/* SPDX-License-Identifier: Apache-2.0 */
/* The margin of predictions, by the rank of measured ones. */
#include "simulate/predict/margin.h"

#include "base/cleanup.h"

#include <assert.h>
#include <math.h>

/* So that a probability which is wanted exactly is met in spite of rounding. */
#define SLACK 1e-9

/* Of pairs on an idle machine, in rising order: the eight fixed ones of
 * `./dev bench predict` on PoCL. */
static const double measured[] = {
	1.007,
	1.013,
	1.018,
	1.042,
	1.045,
	1.054,
	1.054,
	1.071,
};

struct clv_predict_margin clv_predict_margin_of(
	const double *figures, size_t n, double wanted)
{
	size_t k;

	assert(n > 0);
	k = (size_t)ceil(wanted * (double)(n + 1) - SLACK);
	k = k < 1 ? 1 : k > n ? n : k;
	return (struct clv_predict_margin){
		.factor = figures[k - 1],
		.inside = (double)k / (double)(n + 1),
		.n_pairs = n,
	};
}

struct clv_predict_margin clv_predict_margin(double wanted)
{
	return clv_predict_margin_of(measured, CLV_ARRAY_SIZE(measured), wanted);
}
