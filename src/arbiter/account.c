/* SPDX-License-Identifier: Apache-2.0 */
/* Reads report pages and charges held time.  Makes no decisions and publishes nothing. */
#include "arbiter/account.h"

#include "arbiter/handover.h"
#include "arbiter/preempt.h"
#include "base/clock.h"

/* The hand-over is left uncharged up to this part of a turn. */
#define FREE_PART 64
/* Waits are refunded to a cap up to this part of a turn. */
#define CAP_FREE_PART 8
/* By then a ring is served, also of a lease that is muted for ringing too often
 * (arbiter.c). */
#define UNHEARD_NS CLV_NS_PER_MS

/* Calls visit for the slot of each live process. */
static void visit_slots(const struct clv_arbiter_lease *lease,
	void (*visit)(const struct clv_slot *slot, void *userdata), void *userdata)
{
	for (uint32_t word = 0; word < CLV_SLOTS / 64; word++) {
		uint64_t open = lease->open_slots[word];

		for (; open; open &= open - 1) {
			uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(open);

			visit(&lease->pages.report->slots[index], userdata);
		}
	}
}

/* done is loaded before entered: see page.h.  The gate adds a command's time to busy_ns
 * before it counts the command as done. */
static void observe_slot(const struct clv_slot *slot, void *userdata)
{
	struct clv_arbiter_lease *lease = userdata;
	uint64_t done = atomic_load(&slot->done);
	uint64_t entered = atomic_load(&slot->entered);
	uint32_t waiting = atomic_load(&slot->waiting);
	uint64_t since_ns = atomic_load(&slot->busy_since_ns);

	lease->n_in_flight += entered > done ? entered - done : 0;
	lease->n_waiting += waiting;
	lease->n_working_slots += entered > done || waiting > 0;
	lease->done_ns += atomic_load(&slot->busy_ns);
	if (entered > done && since_ns < lease->began_ns)
		lease->began_ns = since_ns;
}

void clv_account_observe(struct clv_arbiter_lease *lease)
{
	lease->n_in_flight = 0;
	lease->n_waiting = 0;
	lease->n_working_slots = 0;
	lease->done_ns = 0;
	lease->began_ns = UINT64_MAX;
	visit_slots(lease, observe_slot, lease);
}

struct busy {
	uint64_t now_ns, sum_ns;
};

static void add_busy(const struct clv_slot *slot, void *userdata)
{
	struct busy *busy = userdata;
	uint64_t since_ns = atomic_load(&slot->busy_since_ns);

	busy->sum_ns += atomic_load(&slot->busy_ns);
	if (since_ns < busy->now_ns &&
		atomic_load(&slot->done) != atomic_load(&slot->entered))
		busy->sum_ns += busy->now_ns - since_ns;
}

uint64_t clv_account_reported_busy_ns(
	const struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	struct busy busy = {.now_ns = now_ns};

	visit_slots(lease, add_busy, &busy);
	return busy.sum_ns;
}

void clv_account_begin_busy(struct clv_arbiter_lease *lease, uint64_t busy_ns)
{
	lease->busy_seen_ns = busy_ns;
	lease->busy_left_ns = 0;
	lease->is_busy_short = false;
}

/* Without contention an idle holder keeps the device but does not use it: that time is no
 * service, and pays no debt of other leases.  The account then has the holder's own
 * report of busy time, bounded by the clock.
 *
 * A gate takes the time of a command that ends out of busy_since_ns before it adds it to
 * busy_ns.  Between the two that time is not reported: the next charge has it, which is
 * why what is left of the bound is kept for one charge.  If less is reported than before
 * in two charges, the report before them was too much. */
static uint64_t relaxed_held_ns(
	struct clv_arbiter_lease *lease, uint64_t elapsed_ns, uint64_t now_ns)
{
	uint64_t busy = clv_account_reported_busy_ns(lease, now_ns), held = 0, left;

	left = elapsed_ns + lease->busy_left_ns;
	lease->is_busy_short = busy < lease->busy_seen_ns && !lease->is_busy_short;
	if (busy > lease->busy_seen_ns)
		held = clv_clock_bound_ns(busy - lease->busy_seen_ns, 0, left);
	if (!lease->is_busy_short)
		lease->busy_seen_ns = busy;
	left -= held;
	lease->busy_left_ns = left < elapsed_ns ? left : elapsed_ns;
	return held;
}

static uint64_t held_ns(
	struct clv_arbiter_lease *lease, uint64_t elapsed_ns, uint64_t now_ns)
{
	if (clv_lease_is_relaxed(lease))
		return relaxed_held_ns(lease, elapsed_ns, now_ns);
	lease->busy_left_ns = 0;
	return elapsed_ns;
}

/* The hand-over between two leases is charged to neither: otherwise a lease with short
 * turns would get less for its share than one with long turns.  The FREE_PART bound makes
 * a lease pay for a turn that is too short to be worth a hand-over. */
static uint64_t without_hand_over(struct clv_arbiter_lease *lease, uint64_t elapsed_ns)
{
	uint64_t free_ns = elapsed_ns / FREE_PART;

	if (free_ns > lease->free_ns)
		free_ns = lease->free_ns;
	lease->free_ns -= free_ns;
	return elapsed_ns - free_ns;
}

static uint64_t count_starts(const struct clv_arbiter_lease *lease)
{
	uint32_t n_used = atomic_load(&lease->pages.control->slots_used);
	uint64_t n = 0;

	for (uint32_t slot = 0; slot < n_used; slot++) {
		if (lease->open_slots[slot / 64] >> (slot % 64) & 1)
			n += atomic_load(&lease->pages.report->turns[slot].n_starts);
	}
	return n;
}

/* A cap limits the time for which the device works.  Each time that a program waits for
 * its work the device idles until threads of the driver and of the program have woken
 * up. */
static void refund_waits(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t elapsed_ns)
{
	uint64_t n_starts, free_ns;

	if (lease->share.cap_ppm == 0)
		return;
	n_starts = count_starts(lease);
	free_ns = n_starts > lease->starts_seen
			  ? (n_starts - lease->starts_seen) *
				    clv_handover_wait_ns(arbiter, lease)
			  : 0;
	lease->starts_seen = n_starts;
	if (free_ns > elapsed_ns / CAP_FREE_PART)
		free_ns = elapsed_ns / CAP_FREE_PART;
	clv_policy_refund_cap(arbiter->policy, lease->policy_lease, free_ns);
}

void clv_account_charge_holder(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	struct clv_arbiter_lease *lease = arbiter->holder;
	uint64_t elapsed, held;

	if (!lease || now_ns <= lease->charged_until_ns)
		return;

	elapsed =
		clv_handover_charged_ns(arbiter, lease, lease->charged_until_ns, now_ns);
	elapsed = without_hand_over(lease, elapsed);
	lease->charged_until_ns = now_ns;
	held = held_ns(lease, elapsed, now_ns);
	clv_policy_charge(arbiter->policy, lease->policy_lease, held, now_ns);
	refund_waits(arbiter, lease, held);
	lease->account.held_ns += held;
}

/* Held time since the lease was last seen without work: what began and ended meanwhile,
 * as its processes report it, plus what is in flight, up to the delay of a ring.  Never
 * more than the time that has passed. */
static uint64_t unseen_ns(const struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	uint64_t ns = 0;

	if (lease->idle_seen_ns == 0 || now_ns <= lease->idle_seen_ns)
		return 0;
	if (lease->done_ns > lease->done_at_idle_ns)
		ns = lease->done_ns - lease->done_at_idle_ns;
	ns = clv_clock_bound_ns(ns, 0, now_ns - lease->idle_seen_ns);
	if (lease->began_ns < now_ns)
		ns += clv_clock_bound_ns(now_ns - lease->began_ns, 0, UNHEARD_NS);
	return clv_clock_bound_ns(ns, 0, now_ns - lease->idle_seen_ns);
}

void clv_account_charge(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint64_t ns, uint64_t now_ns)
{
	if (ns > 0)
		clv_policy_charge(arbiter->policy, lease->policy_lease, ns, now_ns);
	lease->account.held_ns += ns;
}

static uint64_t stray_ns(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	if (lease->stray_since_ns == 0)
		return unseen_ns(lease, now_ns);
	if (now_ns <= lease->stray_since_ns)
		return 0;
	return clv_handover_charged_ns(arbiter, lease, lease->stray_since_ns, now_ns);
}

void clv_account_charge_stray(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	if (lease == arbiter->holder || clv_preempt_is_off(lease)) {
		lease->stray_since_ns = 0;
		lease->idle_seen_ns = 0;
		return;
	}
	clv_account_charge(arbiter, lease, stray_ns(arbiter, lease, now_ns), now_ns);
	lease->stray_since_ns = lease->n_in_flight > 0 ? now_ns : 0;
	lease->idle_seen_ns = lease->n_in_flight > 0 ? 0 : now_ns;
	lease->done_at_idle_ns = lease->done_ns;
}

void clv_account_observe_and_charge(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	clv_account_observe(lease);
	clv_account_charge_stray(arbiter, lease, now_ns);
}

void clv_account_note_throttling(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	bool kept = lease != arbiter->holder && clv_lease_is_in_line(lease) &&
		    clv_policy_is_throttled(arbiter->policy, lease->policy_lease, now_ns);

	if (lease->throttled_since_ns > 0)
		lease->account.throttled_ns += now_ns - lease->throttled_since_ns;
	lease->throttled_since_ns = kept ? now_ns : 0;
}

void clv_account_note_waiting(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	bool waits = lease != arbiter->holder && clv_lease_is_in_line(lease);

	if (waits && lease->waiting_since_ns == 0)
		lease->waiting_since_ns = now_ns;
	if (waits || lease->waiting_since_ns == 0)
		return;
	lease->account.waiting_ns += now_ns - lease->waiting_since_ns;
	lease->waiting_since_ns = 0;
}

void clv_account_end_wait(struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	if (lease->waiting_since_ns == 0)
		return;
	clv_histogram_add(&lease->account.waits, now_ns - lease->waiting_since_ns);
	lease->account.waiting_ns += now_ns - lease->waiting_since_ns;
	lease->waiting_since_ns = 0;
}
