/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_fleet;
struct clv_frag;
struct clv_place_at;
struct clv_place_policy;
struct clv_place_request;
struct clv_place_view;
struct clv_workload;

/* A placer finds places in a fleet by a policy.  With a policy that has bounds of its
 * scores it keeps sets of nodes by what is free on them, and a decision computes the
 * scores of a few nodes.  With other policies, and for requests with a rule for their
 * group or for one rack, it caches the scores of recently requested shapes, and a
 * decision evaluates only what changed since the last one for that shape.  Both are
 * updated from the log of the fleet, and the result is that of scoring all nodes.  A
 * policy may also follow the requests that clv_placer_place() places or refuses, so that
 * a decision depends on those before it.  A request with a rack is one of several tries,
 * and is not followed.
 *
 * The fleet is borrowed and may change between calls in any way, through other placers
 * too, except that nodes must not be added.  Not thread-safe; the fleet must not change
 * during a call. */
struct clv_placer;

#define CLV_PLACE_POWER_MILLI 100

struct clv_placer_options {
	uint64_t seed; /* for policies that draw at random */
	/* For sets and cached scores, at least 256 KiB; 0: 60 per device. */
	size_t most_kept_bytes;
	/* For policies that count power: its weight against what is lost of the devices,
	 * in thousandths up to 1000; 0: CLV_PLACE_POWER_MILLI. */
	uint32_t power_milli;
};

/* workload: the expected requests, copied if the policy learns from them; otherwise it
 * may be NULL.  Returns 0, -EINVAL or -ENOMEM. */
int clv_placer_new(struct clv_fleet *fleet, const struct clv_place_policy *policy,
	const struct clv_workload *workload, const struct clv_placer_options *options,
	struct clv_placer **ret, struct clv_error *err);
struct clv_placer *clv_placer_free(struct clv_placer *placer);

/* Finds a place for the request.  -ENOSPC: none at present; -EINVAL: the request is
 * invalid. */
int clv_placer_find(struct clv_placer *placer, const struct clv_place_request *request,
	struct clv_place_at *ret_at);
/* Like clv_placer_find() if the request depends on the node, such as a part of its
 * devices: requests[i] is the request for node i; with n_devices 0 the node is excluded.
 * Of nodes with equal scores it is the one where the devices are on the fewest I/O dies.
 * Scores are not cached: meant for the few nodes of one machine. */
int clv_placer_find_each(struct clv_placer *placer,
	const struct clv_place_request *requests, struct clv_place_at *ret_at);
/* clv_placer_find(), then takes the place. */
int clv_placer_place(struct clv_placer *placer, const struct clv_place_request *request,
	uint32_t *ret_lease);

struct clv_fleet *clv_placer_fleet(const struct clv_placer *placer);
/* What its scores depend on, as of its last decision. */
const struct clv_place_view *clv_placer_view(const struct clv_placer *placer);
/* Its size in memory, in bytes, without the fleet. */
size_t clv_placer_bytes(const struct clv_placer *placer);
