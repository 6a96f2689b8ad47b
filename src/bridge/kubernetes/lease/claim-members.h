/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/desired.h"
#include "bridge/kubernetes/resource/slices.h"

#include <stdbool.h>
#include <stddef.h>

struct clv_error;
struct json_t;

#define CLV_KUBE_RESULTS_MAX 32 /* Kubernetes' AllocationResultsMaxSize */

/* The results of a claim's allocation that get one lease: one of them, or several devices
 * of a request that a program can use together.  Pure. */
struct clv_kube_members {
	const struct json_t *results[CLV_KUBE_RESULTS_MAX]; /* borrowed */
	struct clv_kube_place places[CLV_KUBE_RESULTS_MAX];
	size_t n;
	bool is_admin;                         /* adminAccess: no lease */
	struct clv_kube_lease_options options; /* of their request */
};

/* What a claim gets of a place.  0: in proportion to the other one. */
struct clv_kube_amount {
	uint32_t share_ppm;
	uint64_t memory_bytes;
};

/* Reads how much of its place the result consumes.  -EINVAL. */
int clv_kube_members_amount(const struct json_t *result,
	const struct clv_kube_place *place, struct clv_kube_amount *ret,
	struct clv_error *err);

/* Adds a result of the same request, with its place; false: it needs a lease of its own.
 */
bool clv_kube_members_join(struct clv_kube_members *members, const struct json_t *result,
	const struct clv_kube_place *place);

/* Writes the agent's names of the devices, with commas.  -E2BIG. */
int clv_kube_members_name(const struct clv_kube_members *members,
	char ret[CLV_KUBE_DEVICES_MAX], struct clv_error *err);
