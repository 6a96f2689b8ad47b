/* SPDX-License-Identifier: Apache-2.0 */
/* Who is awake and what caps leave, on top of the race: a lease that is awake and not
 * overdrawn is runnable, and the race decides among those.  It does not know turns,
 * holders or minimum turns: those are the arbiter's. */
#include "arbiter/policy.h"

#include "arbiter/cap.h"
#include "arbiter/heap.h"
#include "arbiter/race.h"
#include "base/clock.h"
#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct lease {
	bool used;
	bool awake;
	struct clv_cap cap;
	uint32_t next_free;
};

struct clv_policy {
	struct lease *leases; /* by handle, as the runners of the race */
	uint32_t n_leases;    /* used or on the free list */
	uint32_t capacity;
	uint32_t first_free;
	struct clv_race race;
	struct clv_heap throttled; /* awake ones, by the time that ends it */
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
	clv_race_done(&policy->race);
	clv_heap_done(&policy->throttled);
	free(policy->leases);
	free(policy);
	return NULL;
}

uint64_t clv_policy_slice_ns(enum clv_class class)
{
	switch (class) {
	case CLV_CLASS_LATENCY:
		return 1 * CLV_NS_PER_MS;
	case CLV_CLASS_BATCH:
		return 16 * CLV_NS_PER_MS;
	default:
		return 8 * CLV_NS_PER_MS;
	}
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

/* Makes its place among the runnable or the throttled follow from what is true of it. */
static void place(struct clv_policy *policy, uint32_t id)
{
	struct lease *lease = lease_of(policy, id);
	bool throttled = lease->awake && clv_cap_is_overdrawn(&lease->cap);

	if (is_in_throttled(policy, id))
		clv_heap_remove(&policy->throttled, id);
	if (throttled)
		clv_heap_push(
			&policy->throttled, id, clv_cap_overdrawn_until_ns(&lease->cap));

	clv_race_set_runnable(&policy->race, id, lease->awake && !throttled);
}

/* Ends the throttling of all whose time has come. */
static void release_throttled(struct clv_policy *policy, uint64_t now_ns)
{
	while (!clv_heap_is_empty(&policy->throttled)) {
		const struct clv_heap_node *top = clv_heap_top(&policy->throttled);
		uint32_t id = top->id;

		if (top->key > (__int128)now_ns || top->key == UINT64_MAX)
			return;
		clv_cap_refill(&policy->leases[id].cap, now_ns);
		place(policy, id);
	}
}

static int reserve(struct clv_policy *policy, uint32_t capacity)
{
	struct lease *leases;

	if (clv_race_reserve(&policy->race, capacity) < 0 ||
		clv_heap_reserve(&policy->throttled, capacity) < 0)
		return -ENOMEM;
	leases = realloc(policy->leases, capacity * sizeof(*leases));
	if (!leases)
		return -ENOMEM;

	policy->leases = leases;
	policy->capacity = capacity;
	return 0;
}

int clv_policy_add(struct clv_policy *policy, const struct clv_policy_params *params,
	uint64_t now_ns, uint32_t *ret_lease)
{
	uint32_t id = policy->first_free;
	struct lease *lease;

	assert(params->weight_ppm > 0 && params->weight_ppm <= CLV_PPM);
	if (id != CLV_POLICY_NONE) {
		policy->first_free = policy->leases[id].next_free;
	} else {
		if (policy->n_leases == policy->capacity &&
			reserve(policy, policy->capacity ? policy->capacity * 2 : 16) < 0)
			return -ENOMEM;
		id = policy->n_leases++;
	}

	lease = &policy->leases[id];
	*lease = (struct lease){.used = true};
	clv_race_add(&policy->race, id, params->weight_ppm, params->class);
	clv_cap_init(&lease->cap, params->cap_ppm, now_ns);
	*ret_lease = id;
	return 0;
}

void clv_policy_remove(struct clv_policy *policy, uint32_t id, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	release_throttled(policy, now_ns);
	if (is_in_throttled(policy, id))
		clv_heap_remove(&policy->throttled, id);
	clv_race_remove(&policy->race, id);

	lease->used = false;
	lease->next_free = policy->first_free;
	policy->first_free = id;
}

void clv_policy_update(struct clv_policy *policy, uint32_t id,
	const struct clv_policy_params *params, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	assert(params->weight_ppm > 0 && params->weight_ppm <= CLV_PPM);
	release_throttled(policy, now_ns);
	clv_race_update(&policy->race, id, params->weight_ppm, params->class);
	if (params->cap_ppm != lease->cap.cap_ppm) {
		clv_cap_resize(&lease->cap, params->cap_ppm, now_ns);
		place(policy, id);
	}
}

void clv_policy_wake(struct clv_policy *policy, uint32_t id, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	release_throttled(policy, now_ns);
	if (lease->awake)
		return;
	lease->awake = true;
	clv_cap_refill(&lease->cap, now_ns);
	place(policy, id);
}

void clv_policy_sleep(struct clv_policy *policy, uint32_t id, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	release_throttled(policy, now_ns);
	if (!lease->awake)
		return;
	lease->awake = false;
	place(policy, id);
}

bool clv_policy_is_awake(const struct clv_policy *policy, uint32_t id)
{
	return lease_of(policy, id)->awake;
}

void clv_policy_charge(
	struct clv_policy *policy, uint32_t id, uint64_t held_ns, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	clv_race_charge(&policy->race, id, held_ns);
	if (lease->cap.cap_ppm > 0) {
		clv_cap_charge(&lease->cap, held_ns, now_ns);
		place(policy, id);
	}
}

struct clv_policy_decision clv_policy_pick(struct clv_policy *policy, uint64_t now_ns)
{
	struct clv_policy_decision d = {.retry_at_ns = UINT64_MAX};
	struct clv_cap *cap;

	release_throttled(policy, now_ns);
	d.lease = clv_race_find_next(&policy->race);
	if (d.lease == CLV_POLICY_NONE) {
		if (!clv_heap_is_empty(&policy->throttled))
			d.retry_at_ns = (uint64_t)clv_heap_top(&policy->throttled)->key;
		return d;
	}

	d.slice_ns = clv_race_turn_ns(&policy->race, d.lease);
	cap = &policy->leases[d.lease].cap;
	clv_cap_refill(cap, now_ns);
	if (cap->cap_ppm > 0 && d.slice_ns > (uint64_t)cap->budget_ns)
		d.slice_ns = (uint64_t)cap->budget_ns;
	return d;
}

bool clv_policy_preempts(
	struct clv_policy *policy, uint32_t waker, uint32_t holder, uint64_t now_ns)
{
	assert(lease_of(policy, waker) && lease_of(policy, holder));
	release_throttled(policy, now_ns);
	return clv_race_preempts(&policy->race, waker, holder);
}

int64_t clv_policy_lag_ns(const struct clv_policy *policy, uint32_t id)
{
	assert(lease_of(policy, id));
	return clv_race_lag_ns(&policy->race, id);
}

bool clv_policy_is_throttled(struct clv_policy *policy, uint32_t id, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	release_throttled(policy, now_ns);
	clv_cap_refill(&lease->cap, now_ns);
	return clv_cap_is_overdrawn(&lease->cap);
}
