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
	/* With a policy that counts_power: its weight against what is lost of the
	 * devices, in thousandths, 0: power is not counted; and the watts that count as
	 * one device. */
	uint32_t power_milli, device_w;
};

/* What a node has to have so that its score can reach a given one: spare processors in
 * thousandths of a device, by clv_place_spare(). */
struct clv_place_need {
	int64_t least_spare, most_spare;
	int32_t most_score; /* that any node can have */
};

struct clv_place_policy {
	const char *name;
	const char *help; /* one line */
	/* Score of a node that the request fits. */
	int32_t (*score)(const struct clv_place_view *view,
		const struct clv_fleet_node *node,
		const struct clv_place_request *request);
	/* Bounds, for searches that leave out nodes; NULL: none are known, and all nodes
	 * are scored.  They hold for nodes where each fitting device has at least
	 * least_milli free: bound is not below the score of that node, and every node
	 * with that score or a higher one has what need returns. */
	int32_t (*bound)(const struct clv_place_view *view,
		const struct clv_fleet_node *node,
		const struct clv_place_request *request, uint32_t least_milli);
	struct clv_place_need (*need)(const struct clv_place_view *view,
		const struct clv_place_request *request, uint32_t least_milli,
		int32_t score);
	/* Chooses devices of the node; NULL: by pick. */
	void (*choose)(const struct clv_place_view *view,
		const struct clv_fleet_node *node,
		const struct clv_place_request *request, struct clv_place_at *ret_at);
	enum clv_pick pick;
	bool is_learned;     /* needs a workload */
	bool keeps_room;     /* follows what comes, and what there is room for */
	bool is_uncacheable; /* scores hold for one decision and are not cached */
	bool counts_power;   /* also the power that a place adds */
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

/* A node's free processors, counted as the devices that the workload would use with them,
 * less its free devices, in thousandths of a device. */
int64_t clv_place_spare(
	const struct clv_place_view *view, const struct clv_fleet_node *node);
int32_t clv_place_bound_balance(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	uint32_t least_milli);
struct clv_place_need clv_place_need_balance(const struct clv_place_view *view,
	const struct clv_place_request *request, uint32_t least_milli, int32_t score);
