/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which lease holds the device: asks the policy and begins and ends turns
 * (account.c reads and charges, publish.c writes to the gates).  It never waits; the
 * thread in arbiter.c calls it when a doorbell rings or when the time that it returned
 * has come. */
#include "arbiter/absence.h"
#include "arbiter/account.h"
#include "arbiter/handover.h"
#include "arbiter/heartbeat.h"
#include "arbiter/internal.h"
#include "arbiter/pause.h"
#include "arbiter/preempt.h"
#include "arbiter/publish.h"
#include "base/clock.h"

#define MIN_TURN_NS (500 * CLV_NS_PER_US)
/* Twice as long as a gate waits before it reports that it is idle
 * (gate/window/grace.c). */
#define SILENT_IDLE_NS (500 * CLV_NS_PER_US)

/* A gate does not ring when its lease goes on in its turn. */
#define QUIET_POLL_NS (1 * CLV_NS_PER_MS)
#define STRAY_POLL_NS (1 * CLV_NS_PER_MS)
#define FREE_SWITCH_NS (1 * CLV_NS_PER_MS)
#define MIN_DRAIN_TIMEOUT_NS (20 * CLV_NS_PER_MS)

static uint64_t smooth(uint64_t old, uint64_t sample)
{
	return old ? old - old / 4 + sample / 4 : sample;
}

static bool has_work(const struct clv_arbiter_lease *lease)
{
	return lease->n_in_flight > 0 || lease->n_waiting > 0;
}

static uint32_t count_attached(const struct clv_arbiter *arbiter)
{
	uint32_t n = 0;

	for (const struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next)
		n += l->n_slots > 0;
	return n;
}

static bool others_awake(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	for (const struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		if (l != lease && clv_policy_is_awake(arbiter->policy, l->policy_lease))
			return true;
	}
	return false;
}

/* When a granted turn is reviewed.  While no other lease is awake (the turn has a
 * deadline only because its holder has a cap) half of it: a turn that continues is then
 * extended before the gate runs out of it, and the device never idles in between. */
static uint64_t when_to_decide(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint64_t slice_ns, uint64_t now_ns)
{
	if (slice_ns < 2 * MIN_TURN_NS || others_awake(arbiter, lease))
		return now_ns + slice_ns;
	return now_ns + slice_ns / 2;
}

/* The time by the clock, without an absence of the agent in this step. */
static uint64_t clock_ns(const struct clv_arbiter *arbiter)
{
	return clv_clock_ns() - arbiter->hole_ns;
}

static uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The time that the driver takes is charged to no lease, up to FREE_SWITCH_NS; the rest
 * to the lease that it resumes. */
static void resume(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease)
{
	uint64_t began_ns = clock_ns(arbiter);

	clv_preempt_resume(arbiter, lease);
	lease->charged_until_ns =
		began_ns + min_ns(clock_ns(arbiter) - began_ns, FREE_SWITCH_NS);
}

/* The holder is not charged for driver calls for another lease, which began at began_ns.
 * Returns how long they took. */
static uint64_t spare_holder(struct clv_arbiter *arbiter, uint64_t began_ns)
{
	uint64_t took_ns = clock_ns(arbiter) - began_ns;

	if (arbiter->holder)
		arbiter->holder->charged_until_ns += took_ns;
	return took_ns;
}

/* Stops work of a lease without the turn.  For the time that the driver takes, which
 * depends on the number of the lease's processes and channels, the lease pays beyond
 * free_ns: its work runs on meanwhile.  The caller charges work that goes on. */
static bool stop(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint64_t free_ns, uint64_t now_ns)
{
	uint64_t began_ns = clock_ns(arbiter), took_ns;
	bool is_stopped = clv_preempt_stop(arbiter, lease);

	took_ns = spare_holder(arbiter, began_ns);
	if (is_stopped && took_ns > free_ns)
		clv_account_charge(arbiter, lease, took_ns - free_ns, now_ns);
	return is_stopped;
}

/* Work that is not stopped is charged from when it was seen to be stopped. */
static void verify(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	uint64_t began_ns, took_ns;
	bool is_still;

	if (!lease->is_stopped)
		return;
	began_ns = clock_ns(arbiter);
	is_still = clv_preempt_verify(arbiter, lease, now_ns);
	if (!is_still)
		clv_preempt_resume(arbiter, lease);
	took_ns = spare_holder(arbiter, began_ns);
	if (!is_still)
		lease->stray_since_ns = lease->stopped_at_ns;
	else if (took_ns > FREE_SWITCH_NS)
		clv_account_charge(arbiter, lease, took_ns - FREE_SWITCH_NS, now_ns);
}

static void hold_until(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	enum clv_phase phase, uint64_t deadline_ns, uint64_t now_ns)
{
	struct clv_control_page *control = lease->pages.control;
	bool goes_on = arbiter->holder == lease && lease->phase == phase;
	bool was_relaxed = arbiter->holder == lease && clv_lease_is_relaxed(lease);

	if (arbiter->holder == lease)
		clv_handover_measure(arbiter, now_ns);
	if (arbiter->holder != lease) {
		clv_account_observe_and_charge(arbiter, lease, now_ns);
		arbiter->holder = lease;
		lease->turn_started_ns = now_ns;
		lease->idle_since_ns = 0;
		lease->charged_until_ns = now_ns;
		lease->free_ns = arbiter->last_holder == lease
					 ? 0
					 : clv_handover_uncharged_ns(arbiter);
		lease->vacant_since_ns = arbiter->handover.vacant_since_ns;
		lease->account.turns++;
		clv_account_end_wait(lease, now_ns);
		arbiter->last_holder = lease;
	}
	/* Otherwise the last charge has what it was. */
	if (phase != CLV_PHASE_GRANTED && !was_relaxed)
		clv_account_begin_busy(
			lease, clv_account_reported_busy_ns(lease, now_ns));
	lease->stray_since_ns = 0;
	lease->idle_seen_ns = 0;
	if (arbiter->handover.leaving == lease)
		arbiter->handover.leaving = NULL;
	arbiter->closing = false;
	clv_publish_window(arbiter, lease, phase, now_ns);
	if (lease->is_stopped)
		resume(arbiter, lease);
	atomic_store(&control->deadline_ns, deadline_ns);
	/* Every thread in line must be woken, also one that has come just now. */
	clv_account_observe(lease);
	if (!goes_on || lease->n_waiting > 0)
		clv_publish_phase(lease, phase);
}

static void hold(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint64_t slice_ns, uint64_t now_ns)
{
	hold_until(arbiter, lease, CLV_PHASE_GRANTED, now_ns + slice_ns, now_ns);
	arbiter->decide_at_ns = when_to_decide(arbiter, lease, slice_ns, now_ns);
}

/* No other lease wants the device: the turn has no deadline. */
static void hold_relaxed(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	bool alone = count_attached(arbiter) <= 1;

	hold_until(arbiter, lease, alone ? CLV_PHASE_OPEN : CLV_PHASE_SHARED, UINT64_MAX,
		now_ns);
	arbiter->decide_at_ns = UINT64_MAX;
}

static struct clv_arbiter_lease *lease_by_handle(
	const struct clv_arbiter *arbiter, uint32_t handle)
{
	struct clv_arbiter_lease *lease = arbiter->leases;

	while (lease && lease->policy_lease != handle)
		lease = lease->next;
	return lease;
}

static void grant_next(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	struct clv_policy_decision next = clv_policy_pick(arbiter->policy, now_ns);
	struct clv_arbiter_lease *lease;

	arbiter->retry_at_ns = next.retry_at_ns;
	if (next.lease == CLV_POLICY_NONE)
		return;

	lease = lease_by_handle(arbiter, next.lease);
	if (lease->share.cap_ppm == 0 && !others_awake(arbiter, lease))
		hold_relaxed(arbiter, lease, now_ns);
	else
		hold(arbiter, lease, next.slice_ns, now_ns);
}

/* Threads that wait for their work are about to come back into the line when the end of
 * that work ends the turn: the lease stays awake for that long. */
static void linger(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	clv_account_note_waiting(arbiter, lease, now_ns);
	if (!clv_lease_is_in_line(lease) &&
		clv_policy_is_awake(arbiter->policy, lease->policy_lease))
		lease->lingers_until_ns = now_ns + clv_handover_linger_ns(arbiter);
}

/* The next lease is let in, and resumed, before the holder is stopped: the driver calls
 * and the threads' wake-ups take long, and the device would idle meanwhile.  If the
 * driver does not stop the holder's work it becomes a stray. */
static void stop_for_next(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	struct clv_arbiter_lease *lease = arbiter->holder;
	uint64_t free_ns;

	clv_account_charge_holder(arbiter, now_ns);
	/* The lease was idle when its turn ended and has submitted since.  Stopped work
	 * rings no doorbell, so the lease is woken here. */
	if (!clv_policy_is_awake(arbiter->policy, lease->policy_lease))
		clv_policy_wake(arbiter->policy, lease->policy_lease, now_ns);
	arbiter->holder = NULL;
	arbiter->closing = false;
	grant_next(arbiter, now_ns);
	if (arbiter->holder == lease)
		return;
	free_ns = min_ns(clock_ns(arbiter) - now_ns, FREE_SWITCH_NS);
	if (arbiter->holder)
		arbiter->holder->charged_until_ns = now_ns + free_ns;
	if (!stop(arbiter, lease, FREE_SWITCH_NS - free_ns, now_ns))
		lease->stray_since_ns = now_ns;
	else
		clv_pause_note_drain(lease, now_ns - arbiter->closing_since_ns);
	linger(arbiter, lease, clock_ns(arbiter));
}

static void note_overdue(struct clv_arbiter_lease *lease)
{
	lease->account.overdue++;
	if (lease->drain_timeout_ns / 2 >= MIN_DRAIN_TIMEOUT_NS)
		lease->drain_timeout_ns /= 2;
}

/* The last command of the closed holder is almost complete: lets in the next lease, whose
 * threads wake up meanwhile. */
static void let_in_early(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	struct clv_arbiter_lease *lease = arbiter->holder;

	clv_account_charge_holder(arbiter, now_ns);
	arbiter->holder = NULL;
	arbiter->closing = false;
	grant_next(arbiter, now_ns);
	if (arbiter->holder == lease)
		return;
	lease->overdue_at_ns = arbiter->closing_since_ns + lease->drain_timeout_ns;
	clv_pause_note_drain(lease, now_ns - arbiter->closing_since_ns);
	clv_handover_begin(arbiter, lease, now_ns);
}

/* Counts as overdue a lease whose last command is not complete in time although the next
 * lease was let in early because of its estimate. */
static void check_early_leaver(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	if (lease->n_in_flight == 0 || lease == arbiter->holder) {
		lease->overdue_at_ns = 0;
	} else if (lease->overdue_at_ns > 0 && now_ns >= lease->overdue_at_ns) {
		lease->overdue_at_ns = 0;
		note_overdue(lease);
	}
}

/* Frees the device once the closed holder has drained.  A holder that does not drain in
 * time loses the device all the same, is charged on as a stray, and gets less time to
 * drain at its next close. */
static void finish_close(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	struct clv_arbiter_lease *lease = arbiter->holder;

	clv_account_observe(lease);
	if (lease->n_in_flight > 0 && clv_preempt_can_stop(arbiter, lease)) {
		stop_for_next(arbiter, now_ns);
		return;
	}
	if (lease->n_in_flight > 0) {
		atomic_store(&lease->pages.control->is_preemptible, 0);
		arbiter->early_ns = clv_handover_early_ns(arbiter, now_ns);
		if (now_ns >= arbiter->early_ns) {
			let_in_early(arbiter, now_ns);
			return;
		}
		if (now_ns - arbiter->closing_since_ns < lease->drain_timeout_ns)
			return;
		note_overdue(lease);
		lease->is_overdue = true;
		lease->stray_since_ns = now_ns;
		clv_pause_note_drain(lease, now_ns - arbiter->closing_since_ns);
	} else {
		clv_pause_note_drain(lease, now_ns - arbiter->closing_since_ns);
		lease->drain_timeout_ns = arbiter->config.drain_timeout_ns;
		lease->is_overdue = false;
		clv_handover_vacate(arbiter, lease, now_ns);
	}
	clv_account_charge_holder(arbiter, now_ns);
	arbiter->holder = NULL;
	arbiter->closing = false;
	/* What the lease submits from now on is not part of the turn. */
	clv_account_charge_stray(arbiter, lease, now_ns);
	linger(arbiter, lease, now_ns);
}

/* Ends the lingering of linger().  A lease whose threads came back into the line in time
 * has neither slept nor woken up. */
static void end_lingering(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	if (lease->lingers_until_ns == 0)
		return;
	if (lease == arbiter->holder || clv_lease_is_in_line(lease)) {
		lease->lingers_until_ns = 0;
	} else if (now_ns >= lease->lingers_until_ns) {
		lease->lingers_until_ns = 0;
		clv_policy_sleep(arbiter->policy, lease->policy_lease, now_ns);
	}
}

static void end_quiet(struct clv_arbiter_lease *holder, uint64_t now_ns)
{
	if (holder->quiet_until_ns > 0)
		clv_pause_spend(holder, holder->quiet_since_ns, now_ns);
	holder->quiet_until_ns = 0;
}

static void close_holder(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	bool was_quiet = arbiter->holder->quiet_until_ns > 0;

	end_quiet(arbiter->holder, now_ns);
	clv_publish_phase(arbiter->holder, CLV_PHASE_CLOSED);
	clv_handover_measure(arbiter, now_ns);
	arbiter->closing = true;
	arbiter->closing_since_ns = now_ns;
	/* Pairs with a submission, which increments entered and then loads phase
	 * (page.h). */
	atomic_thread_fence(memory_order_seq_cst);
	finish_close(arbiter, now_ns);
	/* The quiet is no part of the cost of a hand-over. */
	if (was_quiet)
		arbiter->handover.vacant_since_ns = 0;
}

/* Marks a lease whose threads wait in line as awake.  Returns whether it just woke up. */
static bool note_wake(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	if (!clv_lease_is_in_line(lease) ||
		clv_policy_is_awake(arbiter->policy, lease->policy_lease))
		return false;

	clv_policy_wake(arbiter->policy, lease->policy_lease, now_ns);
	if (lease->last_wake_ns > 0)
		lease->usual_wake_interval_ns = smooth(
			lease->usual_wake_interval_ns, now_ns - lease->last_wake_ns);
	lease->last_wake_ns = now_ns;
	return true;
}

/* A lease that wakes up with an earlier deadline takes the device, after a minimum turn
 * unless it is of the latency class. */
static void consider_waker(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *waker, uint64_t now_ns)
{
	struct clv_arbiter_lease *holder = arbiter->holder;
	uint64_t turn_ends_ns = holder->turn_started_ns + MIN_TURN_NS;

	if (!clv_policy_preempts(
		    arbiter->policy, waker->policy_lease, holder->policy_lease, now_ns))
		return;
	if (waker->share.class != CLV_CLASS_LATENCY &&
		holder->phase == CLV_PHASE_GRANTED && now_ns < turn_ends_ns) {
		if (arbiter->decide_at_ns > turn_ends_ns)
			arbiter->decide_at_ns = turn_ends_ns;
		return;
	}
	holder->account.revocations++;
	close_holder(arbiter, now_ns);
}

/* A slice has ended, or a minimum turn with another lease waiting. */
static void decide(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	struct clv_arbiter_lease *holder = arbiter->holder;
	struct clv_policy_decision next = clv_policy_pick(arbiter->policy, now_ns);

	if (next.lease == holder->policy_lease)
		hold(arbiter, holder, next.slice_ns, now_ns);
	else
		close_holder(arbiter, now_ns);
}

/* In a granted turn a gate rings when it has been idle for a while; one that does not
 * ring is not waited for long. */
static bool is_idle(struct clv_arbiter_lease *holder, uint64_t now_ns)
{
	if (has_work(holder)) {
		end_quiet(holder, now_ns);
		holder->idle_since_ns = 0;
		return false;
	}
	if (holder->idle_since_ns == 0)
		holder->idle_since_ns = now_ns;
	return holder->quiet_until_ns > 0 || holder->has_rung ||
	       clv_lease_is_relaxed(holder) ||
	       now_ns - holder->idle_since_ns >= SILENT_IDLE_NS;
}

/* Whether the idle holder keeps the device a little longer. */
static bool is_quiet(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *holder, uint64_t now_ns)
{
	uint64_t ns;

	if (clv_lease_is_relaxed(holder))
		return false;
	if (holder->quiet_until_ns == 0)
		clv_pause_earn(holder);
	if (arbiter->halting == CLV_HALTING_ALWAYS &&
		holder->share.class == CLV_CLASS_LATENCY)
		ns = clv_pause_after_request_ns(arbiter, holder, now_ns);
	else
		ns = clv_pause_allowed_ns(arbiter, holder, now_ns);
	if (ns == 0)
		return false;
	if (holder->quiet_until_ns == 0) {
		holder->quiet_since_ns = now_ns;
		holder->quiet_until_ns = now_ns + ns;
	}
	return now_ns < holder->quiet_until_ns;
}

static void review_holder(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	struct clv_arbiter_lease *holder = arbiter->holder;
	bool contended = others_awake(arbiter, holder);

	if (holder->share.cap_ppm == 0 && !contended) {
		end_quiet(holder, now_ns);
		hold_relaxed(arbiter, holder, now_ns);
		return;
	}
	if (is_idle(holder, now_ns)) {
		if (is_quiet(arbiter, holder, now_ns))
			return;
		clv_policy_sleep(arbiter->policy, holder->policy_lease, now_ns);
		close_holder(arbiter, now_ns);
		return;
	}
	if (clv_lease_is_relaxed(holder) || now_ns >= arbiter->decide_at_ns ||
		clv_policy_is_throttled(arbiter->policy, holder->policy_lease, now_ns))
		decide(arbiter, now_ns);
}

/* If only one lease is attached it gets the device before it asks, so that its first
 * submission does not wait. */
static void grant_ahead(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	struct clv_arbiter_lease *only = NULL;

	for (struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		if (l->n_slots == 0)
			continue;
		if (only)
			return;
		only = l;
	}
	if (!only || only->share.cap_ppm > 0)
		return;

	clv_policy_wake(arbiter->policy, only->policy_lease, now_ns);
	hold_relaxed(arbiter, only, now_ns);
}

/* Stops work that runs without a turn if it can be stopped by now. */
static void stop_stray(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	if (lease == arbiter->holder || lease->n_in_flight == 0 || lease->is_stopped)
		return;
	clv_account_charge_stray(arbiter, lease, now_ns);
	/* The lease now waits in line, which wake_leases() checks for leases that have
	 * rung. */
	lease->rung |= stop(arbiter, lease, FREE_SWITCH_NS, now_ns);
}

static void update_lease(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	verify(arbiter, lease, now_ns);
	if (lease->rung || lease == arbiter->holder || lease->stray_since_ns > 0) {
		clv_account_observe(lease);
		stop_stray(arbiter, lease, now_ns);
		clv_account_charge_stray(arbiter, lease, now_ns);
	}
	if (clv_handover_end(arbiter, lease, now_ns))
		linger(arbiter, lease, now_ns);
	check_early_leaver(arbiter, lease, now_ns);
	end_lingering(arbiter, lease, now_ns);
	clv_account_note_throttling(arbiter, lease, now_ns);
	clv_account_note_waiting(arbiter, lease, now_ns);
}

/* A thread that waits in line while work of its process is in flight does not ring: of
 * the lease of such work update_lease() has just looked for threads in line. */
static bool has_news(const struct clv_arbiter_lease *lease)
{
	return lease->rung || lease->stray_since_ns > 0;
}

static void wake_leases(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	bool have_woken = false;

	for (struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		l->woke = has_news(l) && l != arbiter->holder &&
			  note_wake(arbiter, l, now_ns);
		have_woken |= l->woke;
		l->has_rung = l->rung;
		l->rung = false;
	}
	if (have_woken)
		clv_handover_note_wakes(arbiter, now_ns);
	for (struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		if (l->woke && l != arbiter->holder && arbiter->holder &&
			!arbiter->closing)
			consider_waker(arbiter, l, now_ns);
	}
}

/* Of a holder in its turn. */
static uint64_t when_to_review(const struct clv_arbiter *arbiter, uint64_t now_ns)
{
	const struct clv_arbiter_lease *holder = arbiter->holder;

	if (holder->quiet_until_ns > 0)
		return min_ns(holder->quiet_until_ns, now_ns + QUIET_POLL_NS);
	if (holder->idle_since_ns > 0 && !clv_lease_is_relaxed(holder))
		return min_ns(
			arbiter->decide_at_ns, holder->idle_since_ns + SILENT_IDLE_NS);
	return arbiter->decide_at_ns;
}

static uint64_t next_step_ns(const struct clv_arbiter *arbiter, uint64_t now_ns)
{
	uint64_t next_ns = arbiter->retry_at_ns;

	for (const struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		if (l->stray_since_ns > 0)
			next_ns = min_ns(next_ns, now_ns + STRAY_POLL_NS);
		if (l->lingers_until_ns > 0)
			next_ns = min_ns(next_ns, l->lingers_until_ns);
		if (l->is_stopped)
			next_ns = min_ns(next_ns, l->verify_at_ns);
	}
	if (!arbiter->holder)
		return next_ns;
	if (!arbiter->closing)
		return min_ns(next_ns, when_to_review(arbiter, now_ns));
	next_ns = min_ns(next_ns, arbiter->early_ns);
	return min_ns(
		next_ns, arbiter->closing_since_ns + arbiter->holder->drain_timeout_ns);
}

uint64_t clv_turns_step(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	clv_turns_charge(arbiter, now_ns);
	clv_heartbeat_publish(arbiter, now_ns);
	arbiter->is_stepping = true;
	for (struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next)
		update_lease(arbiter, l, now_ns);
	if (arbiter->closing)
		finish_close(arbiter, now_ns);
	wake_leases(arbiter, now_ns);
	if (arbiter->holder && !arbiter->closing)
		review_holder(arbiter, now_ns);
	arbiter->retry_at_ns = UINT64_MAX;
	if (!arbiter->holder)
		grant_next(arbiter, now_ns);
	if (!arbiter->holder)
		grant_ahead(arbiter, now_ns);
	arbiter->handover.vacant_since_ns = 0;
	arbiter->is_stepping = false;
	if (arbiter->hole_ns > 0)
		clv_absence_note(arbiter, now_ns);
	arbiter->due_ns = min_ns(
		next_step_ns(arbiter, now_ns), clv_heartbeat_due_ns(arbiter, now_ns));
	return arbiter->due_ns;
}

void clv_turns_charge(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	clv_absence_note(arbiter, now_ns);
	clv_account_charge_holder(arbiter, now_ns);
}

void clv_turns_remove_lease(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	if (arbiter->holder == lease) {
		clv_turns_charge(arbiter, now_ns);
		arbiter->holder = NULL;
		arbiter->closing = false;
	} else {
		clv_account_observe_and_charge(arbiter, lease, now_ns);
	}
	if (arbiter->last_holder == lease)
		arbiter->last_holder = NULL;
	if (arbiter->handover.leaving == lease)
		arbiter->handover.leaving = NULL;
	clv_publish_phase(lease, CLV_PHASE_CLOSED);
	clv_policy_remove(arbiter->policy, lease->policy_lease, now_ns);
}
