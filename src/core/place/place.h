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
struct clv_workload;

/* A placer finds places in a fleet by a policy.  It keeps the scores of the shapes that
 * it is asked for most and brings them up to date from the fleet's log, so that a
 * decision looks only at what changed since the last one of that shape.
 *
 * The fleet is borrowed and may change in between in any way, through other placers too;
 * nodes must not be added.  Not thread-safe, nor while the fleet changes. */
struct clv_placer;

struct clv_placer_options {
	uint64_t seed;          /* of policies that draw */
	size_t most_kept_bytes; /* for scores, at least 4 MiB; 0: 90 a device */
};

/* workload: what to expect, copied where the policy learns; may be NULL for others.  0,
 * or -EINVAL, -ENOMEM. */
int clv_placer_new(struct clv_fleet *fleet, const struct clv_place_policy *policy,
	const struct clv_workload *workload, const struct clv_placer_options *options,
	struct clv_placer **ret, struct clv_error *err);
struct clv_placer *clv_placer_free(struct clv_placer *placer);

/* Where the request should go.  -ENOSPC: nowhere at present; -EINVAL: it makes no sense.
 */
int clv_placer_find(struct clv_placer *placer, const struct clv_place_request *request,
	struct clv_place_at *ret_at);
/* The same where what is asked for depends on the node, as a part of its devices does:
 * requests[i] is what it is on node i, with n_devices 0 it is not for that node.  No
 * score is kept: for the few nodes of one machine. */
int clv_placer_find_each(struct clv_placer *placer,
	const struct clv_place_request *requests, struct clv_place_at *ret_at);
/* clv_placer_find(), and takes it. */
int clv_placer_place(struct clv_placer *placer, const struct clv_place_request *request,
	uint32_t *ret_lease);

struct clv_fleet *clv_placer_fleet(const struct clv_placer *placer);
/* What its workload makes of the fleet; NULL with policies that do not learn. */
const struct clv_frag *clv_placer_frag(const struct clv_placer *placer);
/* All that it holds, without the fleet. */
size_t clv_placer_bytes(const struct clv_placer *placer);
