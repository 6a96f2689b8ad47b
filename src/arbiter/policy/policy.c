/* SPDX-License-Identifier: Apache-2.0 */
/* Adds sleep and caps to EEVDF: a lease that is awake and whose cap is not overdrawn is
 * runnable, and EEVDF decides among those.  Turns, holders and minimum turns are the
 * arbiter's. */
#include "arbiter/policy/policy.h"

#include "arbiter/policy/cap.h"
#include "arbiter/policy/eevdf.h"
#include "arbiter/policy/heap.h"
#include "base/clock.h"
#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static_assert(CLV_POLICY_NONE == CLV_EEVDF_NONE, "handles are the ids of EEVDF");

struct lease {
	bool used;
	bool awake;
	bool is_gone; /* removed: its entity keeps the debt */
	char tenant[CLV_POLICY_TENANT_MAX];
	struct clv_cap cap;
	uint32_t next_free;
};

struct clv_policy {
	struct lease *leases; /* by handle, as the entities of EEVDF */
	uint32_t n_leases;    /* used or on the free list */
	uint32_t capacity;
	uint32_t first_free;
	struct clv_eevdf eevdf;
	/* Awake leases, by when their caps let them run again. */
	struct clv_heap throttled;
};

struct clv_policy *clv_policy_new(void)
{
	struct clv_policy *policy = calloc(1, sizeof(*policy));

	if (policy)
		policy->first_free = CLV_POLICY_NONE;
	return policy;
}

struct clv_policy *clv_policy_free(struct clv_policy *policy)
{
	if (!policy)
		return NULL;
	clv_eevdf_done(&policy->eevdf);
	clv_heap_done(&policy->throttled);
	free(policy->leases);
	free(policy);
	return NULL;
}

uint64_t clv_policy_slice_ns(enum clv_class class)
{
	return clv_eevdf_slice_ns(class);
}

static struct lease *lease_of(const struct clv_policy *policy, uint32_t id)
{
	assert(id < policy->n_leases && policy->leases[id].used);
	return &policy->leases[id];
}

static bool is_in_throttled(const struct clv_policy *policy, uint32_t id)
{
	return policy->throttled.places[id] != CLV_HEAP_NOWHERE;
}

/* Makes the lease runnable, throttled or neither, from its state. */
static void update_queues(struct clv_policy *policy, uint32_t id)
{
	struct lease *lease = lease_of(policy, id);
	bool throttled = lease->awake && clv_cap_is_overdrawn(&lease->cap);

	if (is_in_throttled(policy, id))
		clv_heap_remove(&policy->throttled, id);
	if (throttled)
		clv_heap_push(
			&policy->throttled, id, clv_cap_overdrawn_until_ns(&lease->cap));

	clv_eevdf_set_runnable(&policy->eevdf, id, lease->awake && !throttled);
}

/* Makes throttled leases runnable whose caps have a budget again. */
static void release_throttled(struct clv_policy *policy, uint64_t now_ns)
{
	while (!clv_heap_is_empty(&policy->throttled)) {
		const struct clv_heap_node *top = clv_heap_top(&policy->throttled);
		uint32_t id = top->id;

		if (top->key > (__int128)now_ns || top->key == UINT64_MAX)
			return;
		clv_cap_refill(&policy->leases[id].cap, true, now_ns);
		update_queues(policy, id);
	}
}

static int reserve(struct clv_policy *policy, uint32_t capacity)
{
	struct lease *leases;

	if (clv_eevdf_reserve(&policy->eevdf, capacity) < 0 ||
		clv_heap_reserve(&policy->throttled, capacity) < 0)
		return -ENOMEM;
	leases = realloc(policy->leases, capacity * sizeof(*leases));
	if (!leases)
		return -ENOMEM;

	policy->leases = leases;
	policy->capacity = capacity;
	return 0;
}

static void free_id(struct clv_policy *policy, uint32_t id)
{
	policy->leases[id].used = false;
	policy->leases[id].next_free = policy->first_free;
	policy->first_free = id;
}

/* Frees the ids of removed leases whose debts are paid. */
static void free_paid(struct clv_policy *policy)
{
	for (uint32_t id = 0; id < policy->n_leases; id++) {
		const struct lease *lease = &policy->leases[id];

		if (!lease->used || !lease->is_gone ||
			clv_eevdf_debt(&policy->eevdf, id) > 0)
			continue;
		clv_eevdf_remove(&policy->eevdf, id);
		free_id(policy, id);
	}
}

static int take_id(struct clv_policy *policy, uint32_t *ret_id)
{
	uint32_t id;

	free_paid(policy);
	id = policy->first_free;
	if (id != CLV_POLICY_NONE) {
		policy->first_free = policy->leases[id].next_free;
	} else {
		if (policy->n_leases == policy->capacity &&
			reserve(policy, policy->capacity ? policy->capacity * 2 : 16) < 0)
			return -ENOMEM;
		id = policy->n_leases++;
	}
	*ret_id = id;
	return 0;
}

static void init_lease(struct clv_policy *policy, uint32_t id, uint32_t weight_ppm,
	enum clv_class class, const char *tenant)
{
	struct lease *lease = &policy->leases[id];

	assert(weight_ppm > 0 && weight_ppm <= CLV_PPM);
	*lease = (struct lease){.used = true};
	snprintf(lease->tenant, sizeof(lease->tenant), "%s", tenant ? tenant : "");
	clv_eevdf_add(&policy->eevdf, id, weight_ppm, class);
}

/* Whether the other lease is of the same tenant and in debt. */
static bool is_debtor_beside(const struct clv_policy *policy, uint32_t other, uint32_t id)
{
	const struct lease *lease = &policy->leases[other];

	return other != id && lease->used &&
	       strcmp(lease->tenant, policy->leases[id].tenant) == 0 &&
	       clv_eevdf_debt(&policy->eevdf, other) > 0;
}

/* A tenant's new lease takes over all debts of the tenant's removed leases, and of each
 * live debtor's debt a part in proportion to its own weight: were that less, a tenant
 * with many leases could let each of them run up a debt in turn. */
static void take_over_debts(struct clv_policy *policy, uint32_t id)
{
	struct clv_eevdf *eevdf = &policy->eevdf;
	uint64_t own = eevdf->entities[id].weight_ppm, all = own;

	if (!policy->leases[id].tenant[0])
		return;
	for (uint32_t i = 0; i < policy->n_leases; i++) {
		if (is_debtor_beside(policy, i, id) && !policy->leases[i].is_gone)
			all += eevdf->entities[i].weight_ppm;
	}
	for (uint32_t i = 0; i < policy->n_leases; i++) {
		__int128 debt;

		if (!is_debtor_beside(policy, i, id))
			continue;
		debt = clv_eevdf_debt(eevdf, i);
		if (!policy->leases[i].is_gone)
			debt = debt * own / all;
		clv_eevdf_move_debt(eevdf, i, id, debt);
	}
	free_paid(policy);
}

int clv_policy_add(struct clv_policy *policy, const struct clv_policy_params *params,
	uint64_t now_ns, uint32_t *ret_lease)
{
	uint32_t id;

	if (take_id(policy, &id) < 0)
		return -ENOMEM;
	init_lease(policy, id, params->weight_ppm, params->class, params->tenant);
	clv_cap_init(&policy->leases[id].cap, params->cap_ppm, now_ns);
	take_over_debts(policy, id);
	*ret_lease = id;
	return 0;
}

void clv_policy_remove(struct clv_policy *policy, uint32_t id, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	release_throttled(policy, now_ns);
	if (is_in_throttled(policy, id))
		clv_heap_remove(&policy->throttled, id);
	lease->awake = false;
	if (!lease->tenant[0])
		clv_eevdf_remove(&policy->eevdf, id);
	else if (clv_eevdf_retire(&policy->eevdf, id))
		lease->is_gone = true;
	if (!lease->is_gone)
		free_id(policy, id);
	free_paid(policy);
}

int clv_policy_restore_debt(struct clv_policy *policy, const struct clv_policy_debt *debt)
{
	uint32_t id;

	if (take_id(policy, &id) < 0)
		return -ENOMEM;
	init_lease(policy, id, debt->weight_ppm, debt->class, debt->tenant);
	clv_cap_init(&policy->leases[id].cap, 0, 0);
	policy->leases[id].is_gone = policy->eevdf.entities[id].is_gone = true;
	clv_eevdf_add_debt(&policy->eevdf, id, (__int128)debt->debt_ns * CLV_PPM);
	return 0;
}

bool clv_policy_next_debt(
	const struct clv_policy *policy, uint32_t *at, struct clv_policy_debt *ret)
{
	for (; *at < policy->n_leases; (*at)++) {
		const struct lease *lease = &policy->leases[*at];
		const struct clv_eevdf_entity *entity = &policy->eevdf.entities[*at];
		__int128 debt;

		if (!lease->used || !lease->tenant[0])
			continue;
		debt = clv_eevdf_debt(&policy->eevdf, *at);
		if (debt == 0)
			continue;
		*ret = (struct clv_policy_debt){
			.tenant = lease->tenant,
			.weight_ppm = entity->weight_ppm,
			.class = entity->class,
			.debt_ns = (uint64_t)(debt / CLV_PPM),
			.is_gone = lease->is_gone,
		};
		(*at)++;
		return true;
	}
	return false;
}

void clv_policy_update(struct clv_policy *policy, uint32_t id,
	const struct clv_policy_params *params, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	assert(params->weight_ppm > 0 && params->weight_ppm <= CLV_PPM);
	release_throttled(policy, now_ns);
	clv_eevdf_update(&policy->eevdf, id, params->weight_ppm, params->class);
	if (params->cap_ppm != lease->cap.cap_ppm) {
		clv_cap_resize(&lease->cap, params->cap_ppm, lease->awake, now_ns);
		update_queues(policy, id);
	}
}

void clv_policy_wake(struct clv_policy *policy, uint32_t id, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	release_throttled(policy, now_ns);
	if (lease->awake)
		return;
	clv_cap_refill(&lease->cap, false, now_ns);
	lease->awake = true;
	update_queues(policy, id);
}

void clv_policy_sleep(struct clv_policy *policy, uint32_t id, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	release_throttled(policy, now_ns);
	if (!lease->awake)
		return;
	clv_cap_refill(&lease->cap, true, now_ns);
	lease->awake = false;
	update_queues(policy, id);
}

bool clv_policy_is_awake(const struct clv_policy *policy, uint32_t id)
{
	return lease_of(policy, id)->awake;
}

void clv_policy_charge(
	struct clv_policy *policy, uint32_t id, uint64_t held_ns, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	clv_eevdf_charge(&policy->eevdf, id, held_ns);
	if (lease->cap.cap_ppm > 0) {
		clv_cap_charge(&lease->cap, held_ns, lease->awake, now_ns);
		update_queues(policy, id);
	}
}

void clv_policy_refund_cap(struct clv_policy *policy, uint32_t id, uint64_t ns)
{
	clv_cap_refund(&lease_of(policy, id)->cap, ns);
	update_queues(policy, id);
}

struct clv_policy_decision clv_policy_pick(struct clv_policy *policy, uint64_t now_ns)
{
	struct clv_policy_decision d = {.retry_at_ns = UINT64_MAX};
	struct clv_cap *cap;

	release_throttled(policy, now_ns);
	d.lease = clv_eevdf_find_next(&policy->eevdf);
	if (d.lease == CLV_POLICY_NONE) {
		if (!clv_heap_is_empty(&policy->throttled))
			d.retry_at_ns = (uint64_t)clv_heap_top(&policy->throttled)->key;
		return d;
	}

	d.slice_ns = clv_eevdf_turn_ns(&policy->eevdf, d.lease);
	cap = &policy->leases[d.lease].cap;
	clv_cap_refill(cap, true, now_ns);
	clv_cap_limit(cap, clv_eevdf_lag_ns(&policy->eevdf, d.lease));
	if (cap->cap_ppm > 0 && d.slice_ns > (uint64_t)cap->budget_ns)
		d.slice_ns = (uint64_t)cap->budget_ns;
	return d;
}

bool clv_policy_preempts(
	struct clv_policy *policy, uint32_t waker, uint32_t holder, uint64_t now_ns)
{
	assert(lease_of(policy, waker) && lease_of(policy, holder));
	release_throttled(policy, now_ns);
	return clv_eevdf_preempts(&policy->eevdf, waker, holder);
}

int64_t clv_policy_lag_ns(const struct clv_policy *policy, uint32_t id)
{
	assert(lease_of(policy, id));
	return clv_eevdf_lag_ns(&policy->eevdf, id);
}

void clv_policy_stretch(struct clv_policy *policy, uint32_t percent)
{
	bool shrinks = percent < policy->eevdf.stretch_percent;

	policy->eevdf.stretch_percent = percent;
	for (uint32_t id = 0; shrinks && id < policy->n_leases; id++) {
		if (policy->leases[id].used)
			clv_eevdf_shorten_request(&policy->eevdf, id);
	}
}

uint64_t clv_policy_request_ns(const struct clv_policy *policy, enum clv_class class)
{
	return clv_eevdf_request_ns(&policy->eevdf, class);
}

bool clv_policy_is_throttled(struct clv_policy *policy, uint32_t id, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	release_throttled(policy, now_ns);
	clv_cap_refill(&lease->cap, lease->awake, now_ns);
	return clv_cap_is_overdrawn(&lease->cap);
}
