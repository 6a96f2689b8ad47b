/* SPDX-License-Identifier: Apache-2.0 */
/* Fragmentation gradient descent (FGD) as published: what the request strands, mapped to
 * 0..100 by a sigmoid and truncated to an integer.  Truncation makes many nodes equal, of
 * which the first wins.  This packs: without it the result is worse. */
#include "core/fleet/fleet.h"
#include "core/place/frag.h"
#include "core/place/policy.h"

#include <math.h>

static int32_t sigmoid(const struct clv_place_view *view, int64_t gain)
{
	double devices =
		(double)gain / (double)clv_frag_weight(view->frag) / CLV_PLACE_WHOLE;

	return (int32_t)(100 / (1 + exp(-devices)));
}

int32_t clv_place_score_fgd(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	struct clv_frag_option options[CLV_FRAG_OPTIONS_MAX];
	unsigned n = clv_frag_options(view->frag, view->fleet, node, request, options);
	int64_t most = options[0].gain;

	for (unsigned i = 1; i < n; i++)
		most = options[i].gain > most ? options[i].gain : most;
	return sigmoid(view, most);
}

void clv_place_choose_fgd(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	struct clv_place_at *ret_at)
{
	struct clv_frag_option options[CLV_FRAG_OPTIONS_MAX];
	unsigned n = clv_frag_options(view->frag, view->fleet, node, request, options);
	unsigned best = 0;

	for (unsigned i = 1; i < n; i++) {
		if (sigmoid(view, options[i].gain) > sigmoid(view, options[best].gain))
			best = i;
	}
	ret_at->devices = options[best].devices;
	ret_at->start = options[best].start;
}
