/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/place/pick.h"

/* Policies of placement: every node that fits is scored and the highest score wins; of
 * equal scores the first node of the fleet. */

struct clv_fleet;
struct clv_fleet_node;
struct clv_frag;
struct clv_place_at;
struct clv_place_prices;
struct clv_place_request;
struct clv_room;

/* What a score may depend on besides the node and the request.  Borrowed. */
struct clv_place_view {
	const struct clv_fleet *fleet;
	const struct clv_frag *frag;           /* NULL unless the policy is_learned */
	const struct clv_place_prices *prices; /* likewise */
	const struct clv_room *room;           /* NULL unless the policy keeps_room */
	uint64_t seed;
	uint64_t n_decisions; /* decisions so far */
	uint64_t version;     /* of all that scores depend on besides node and request */
};

struct clv_place_policy {
	const char *name;
	const char *help; /* one line */
	/* Score of a node that the request fits. */
	int32_t (*score)(const struct clv_place_view *view,
		const struct clv_fleet_node *node,
		const struct clv_place_request *request);
	/* Chooses devices of the node; NULL: by pick. */
	void (*choose)(const struct clv_place_view *view,
		const struct clv_fleet_node *node,
		const struct clv_place_request *request, struct clv_place_at *ret_at);
	enum clv_pick pick;
	bool is_learned;     /* needs a workload */
	bool keeps_room;     /* follows what comes, and what there is room for */
	bool is_uncacheable; /* scores hold for one decision and are not cached */
};

extern const struct clv_place_policy clv_place_policies[];
extern const size_t clv_place_n_policies;

/* NULL if there is no policy of that name. */
const struct clv_place_policy *clv_place_policy_find(const char *name);

/* "random, first-fit, ...", for messages. */
void clv_place_list_policies(char *ret, size_t ret_bytes);

int32_t clv_place_score_fgd(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request);
void clv_place_choose_fgd(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	struct clv_place_at *ret_at);
int32_t clv_place_score_balance(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request);
void clv_place_choose_balance(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	struct clv_place_at *ret_at);
