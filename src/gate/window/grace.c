/* SPDX-License-Identifier: Apache-2.0 */
/* Decides by success and failure whether an idle process keeps its turn for a moment. */
#include "gate/window/grace.h"

#include "base/clock.h"
#include "gate/process/state.h"

/* Three times what a program needs that only reads its result. */
#define GRACE_NS (250 * CLV_NS_PER_US)

/* The score rises by 1 with each success and falls by FAILURE_COSTS with each failure.
 * At 0 a grace is tried once in TRY_EVERY times. */
#define MAX_SCORE 8
#define FAILURE_COSTS 2
#define TRY_EVERY 16

static void add_score(int32_t by)
{
	int32_t score = atomic_load(&clv_gate.grace_score) + by;

	if (score < 0)
		score = 0;
	atomic_store(&clv_gate.grace_score, score < MAX_SCORE ? score : MAX_SCORE);
}

/* If no thread waits for the work that just ended, one may be about to submit more: a
 * driver that computes on the processor easily delays it. */
bool clv_grace_begin(void)
{
	if (atomic_load(&clv_gate.grace_score) == 0 &&
		atomic_load(&clv_gate.n_in_wait) > 0 &&
		atomic_fetch_add(&clv_gate.n_grace_denied, 1) % TRY_EVERY != 0)
		return false;
	atomic_store(&clv_gate.idle_since_ns, clv_clock_ns());
	return true;
}

void clv_grace_succeeded(void)
{
	uint64_t since_ns = atomic_exchange(&clv_gate.idle_since_ns, 0);

	if (since_ns > 0 && clv_clock_ns() - since_ns < GRACE_NS)
		add_score(1);
}

uint64_t clv_grace_left_ns(void)
{
	uint64_t since_ns = atomic_load(&clv_gate.idle_since_ns);
	uint64_t now_ns = clv_clock_ns();

	if (since_ns == 0 || now_ns - since_ns >= GRACE_NS)
		return 0;
	return GRACE_NS - (now_ns - since_ns);
}

void clv_grace_failed(void)
{
	if (atomic_exchange(&clv_gate.idle_since_ns, 0) > 0)
		add_score(-FAILURE_COSTS);
}
