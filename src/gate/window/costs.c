/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates of how long commands take.  They bound how much is in flight at once; what a
 * lease pays is held time, which the arbiter measures itself. */
#include "gate/window/costs.h"

#include "base/clock.h"
#include "gate/process/packed.h"

#include <stdbool.h>

#define SETTLED_AFTER 3
#define MAX_ESTIMATE_NS UINT64_C(4000000000)
/* So that a window of the shortest commands does not overflow the count of a flight. */
#define MIN_ESTIMATE_NS 64u

struct clv_cost clv_costs[1 << CLV_COST_BITS];
static _Atomic uint8_t samples[1 << CLV_COST_BITS];

/* Samples are intervals between wake-ups of one thread, so a late wake-up makes one too
 * long and the next too short: only a symmetric mean is right.  The first samples contain
 * one-time costs (compilation), so their minimum is used; later an outlier at most
 * doubles the estimate. */
static uint64_t blend(uint64_t old_ns, uint64_t took_ns, uint32_t n_samples)
{
	if (n_samples < SETTLED_AFTER)
		return took_ns < old_ns || n_samples == 0 ? took_ns : old_ns;
	if (took_ns > 8 * old_ns)
		took_ns = 8 * old_ns;
	return old_ns + took_ns / 8 - old_ns / 8;
}

/* The lasting key of a key, at the index of the latter. */
static struct {
	_Atomic uint64_t key;
	_Atomic uint64_t lasting_key;
} aliases[1 << CLV_COST_BITS];

static size_t place_of(uint64_t key)
{
	return (size_t)(clv_cost_of(key) - clv_costs);
}

/* The length of some kernels depends on their arguments, which are not in the key.  If
 * commands together took far longer than expected, far too much was in flight at once:
 * for a while the longest time since then is their estimate. */
#define SURPRISE_NS (100 * CLV_NS_PER_MS)
#define SURPRISE_RATIO 8
#define SURPRISE_LASTS_NS (2 * CLV_NS_PER_S)

static _Atomic uint64_t surprised_until_ns[1 << CLV_COST_BITS];

static bool is_surprise(uint64_t old_ns, uint64_t took_ns, uint64_t n)
{
	return took_ns > SURPRISE_RATIO * old_ns * n && took_ns > SURPRISE_NS;
}

static uint64_t next_estimate(size_t place, uint64_t old_ns, uint64_t took_ns, uint64_t n)
{
	uint32_t n_samples = atomic_load(&samples[place]);
	uint64_t each_ns = took_ns / n, now_ns = clv_clock_ns();

	if (n_samples >= SETTLED_AFTER && is_surprise(old_ns, took_ns, n)) {
		atomic_store(&surprised_until_ns[place], now_ns + SURPRISE_LASTS_NS);
		return each_ns;
	}
	if (now_ns < atomic_load(&surprised_until_ns[place]))
		return each_ns > old_ns ? each_ns : old_ns;
	return blend(old_ns, each_ns, n_samples);
}

static void learn_one(uint64_t key, uint64_t took_ns, uint64_t n)
{
	struct clv_cost *cost = clv_cost_of(key);
	size_t place = place_of(key);
	uint32_t n_samples;
	uint64_t new_ns;

	if (atomic_load(&cost->key) != key) {
		atomic_store(&samples[place], 0);
		atomic_store(&surprised_until_ns[place], 0);
	}
	n_samples = atomic_load(&samples[place]);
	new_ns = next_estimate(
		place, CLV_FLIGHT_NS(atomic_load(&cost->packed)), took_ns, n);
	if (new_ns < MIN_ESTIMATE_NS)
		new_ns = MIN_ESTIMATE_NS;
	if (new_ns > MAX_ESTIMATE_NS)
		new_ns = MAX_ESTIMATE_NS;
	atomic_store(&cost->packed, CLV_FLIGHT_PACK(new_ns));
	if (n_samples < SETTLED_AFTER)
		atomic_store(&samples[place], (uint8_t)(n_samples + 1));
	atomic_store(&cost->key, key);
}

void clv_cost_learn(uint64_t key, uint64_t took_ns, uint64_t n)
{
	size_t place = place_of(key);

	learn_one(key, took_ns, n);
	if (atomic_load(&aliases[place].key) == key)
		learn_one(atomic_load(&aliases[place].lasting_key), took_ns, n);
}

void clv_cost_calm(uint64_t key)
{
	size_t place = place_of(key);

	atomic_store(&surprised_until_ns[place], 0);
	if (atomic_load(&aliases[place].key) == key)
		atomic_store(&surprised_until_ns[place_of(
				     atomic_load(&aliases[place].lasting_key))],
			0);
}

/* As many kinds as have a mean in common (CLV_KINDS_TOGETHER): a delay of the machine
 * raises no more. */
#define RAISE_RATIO 8

void clv_cost_raise(uint64_t key, uint64_t least_ns)
{
	uint64_t known_ns = clv_cost_estimate(key);

	if (known_ns == 0) {
		clv_cost_learn(key, least_ns, 1);
		return;
	}
	if (least_ns > RAISE_RATIO * known_ns)
		least_ns = RAISE_RATIO * known_ns;
	if (known_ns < least_ns && least_ns <= MAX_ESTIMATE_NS)
		atomic_store(&clv_cost_of(key)->packed, CLV_FLIGHT_PACK(least_ns));
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
