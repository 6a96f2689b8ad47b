/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates of how long commands take.  They steer only how much is in flight at once;
 * what a lease pays for is held time, which the arbiter measures itself. */
#include "gate/costs.h"

#define SETTLED_AFTER 3
#define MAX_ESTIMATE_NS UINT64_C(4000000000)
/* So that the shortest are not too many for the count of a flight. */
#define MIN_ESTIMATE_NS 64u

struct clv_cost clv_costs[1 << CLV_COST_BITS];
static _Atomic uint8_t samples[1 << CLV_COST_BITS];

/* Samples are intervals between wake-ups of one thread, so a late wake-up makes one too
 * long and the next too short: only a symmetric mean is right.  The first samples hold
 * one-time costs (compilation), so the least of them counts; later, one outlier at most
 * doubles. */
static uint64_t blend(uint64_t old_ns, uint64_t took_ns, uint32_t n_samples)
{
	if (n_samples < SETTLED_AFTER)
		return took_ns < old_ns || n_samples == 0 ? took_ns : old_ns;
	if (took_ns > 8 * old_ns)
		took_ns = 8 * old_ns;
	return old_ns + took_ns / 8 - old_ns / 8;
}

/* The lasting key behind one that is not, in the same place of a table of its own. */
static struct {
	_Atomic uint64_t key;
	_Atomic uint64_t lasting_key;
} aliases[1 << CLV_COST_BITS];

static size_t place_of(uint64_t key)
{
	return (size_t)(clv_cost_of(key) - clv_costs);
}

static void learn_one(uint64_t key, uint64_t took_ns)
{
	struct clv_cost *cost = clv_cost_of(key);
	uint32_t n_samples = 0;
	uint64_t old_ns = 0, new_ns;

	if (atomic_load(&cost->key) == key) {
		n_samples = atomic_load(&samples[place_of(key)]);
		old_ns = CLV_FLIGHT_NS(atomic_load(&cost->packed));
	}
	new_ns = blend(old_ns, took_ns, n_samples);
	if (new_ns < MIN_ESTIMATE_NS)
		new_ns = MIN_ESTIMATE_NS;
	if (new_ns > MAX_ESTIMATE_NS)
		new_ns = MAX_ESTIMATE_NS;
	atomic_store(&cost->packed, CLV_FLIGHT_PACK(new_ns));
	if (n_samples < SETTLED_AFTER)
		atomic_store(&samples[place_of(key)], (uint8_t)(n_samples + 1));
	atomic_store(&cost->key, key);
}

void clv_cost_learn(uint64_t key, uint64_t took_ns)
{
	size_t place = place_of(key);

	learn_one(key, took_ns);
	if (atomic_load(&aliases[place].key) == key)
		learn_one(atomic_load(&aliases[place].lasting_key), took_ns);
}

void clv_cost_seed(uint64_t key, uint64_t lasting_key)
{
	size_t place = place_of(key);
	uint64_t estimate_ns;

	atomic_store(&aliases[place].lasting_key, lasting_key);
	atomic_store(&aliases[place].key, key);
	estimate_ns = clv_cost_estimate(lasting_key);
	if (estimate_ns == 0)
		return;
	atomic_store(&clv_costs[place].packed, CLV_FLIGHT_PACK(estimate_ns));
	atomic_store(&samples[place], SETTLED_AFTER);
	atomic_store(&clv_costs[place].key, key);
}

void clv_cost_forget(void)
{
	for (size_t i = 0; i < 1 << CLV_COST_BITS; i++)
		atomic_store(&clv_costs[i].key, 0);
}
