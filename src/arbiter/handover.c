/* SPDX-License-Identifier: Apache-2.0 */
/* Measures hand-overs and decides when the next lease may be let in early. */
#include "arbiter/handover.h"

#include "arbiter/publish.h"
#include "base/clock.h"
#include "base/units.h"

/* Wake-ups from the expiry of the grant's timer to work on the device: this thread, one
 * of the next lease's, one of its driver's. */
#define WAKE_UPS 3
#define LEAD_NS_MIN (10 * CLV_NS_PER_US)
#define LEAD_NS_MAX (300 * CLV_NS_PER_US)
/* Outliers do not count as the time of a wake-up. */
#define LATE_NS_MAX (200 * CLV_NS_PER_US)
#define COST_NS_MAX CLV_NS_PER_MS
#define SMOOTHING 8

/* After a wrong estimate the next lease is not let in early for this many turns of that
 * lease, and for twice as many each further time. */
#define DENIED_AT_FIRST 2
#define DENIED_MAX 64

/* Turns are so long that hand-overs take this part of the time, within the limit. */
#define LOST_PART_PPM 6000
#define STRETCH_PERCENT_MAX 200
/* The limit for the turns of all other leases together, which a lease waits for. */
#define ROUND_NS (56 * CLV_NS_PER_MS)
/* Work that goes on for so long after a turn makes the turns longer by itself. */
#define LONG_DRAIN_NS (4 * CLV_NS_PER_MS)
/* A lease that sleeps and has had no turn for so long delays no other. */
#define RECENT_NS CLV_NS_PER_S

#define LINGER_NS_MAX CLV_NS_PER_MS
/* An announced end beyond this is ignored. */
#define END_NS_MAX (10 * CLV_NS_PER_S)

static uint64_t smooth(uint64_t old_ns, uint64_t sample_ns)
{
	return (old_ns * (SMOOTHING - 1) + sample_ns) / SMOOTHING;
}

void clv_handover_note_late(struct clv_arbiter *arbiter, uint64_t late_ns)
{
	arbiter->handover.late_ns = smooth(
		arbiter->handover.late_ns, clv_clock_bound_ns(late_ns, 0, LATE_NS_MAX));
}

static uint64_t lead_ns(const struct clv_arbiter *arbiter)
{
	return clv_clock_bound_ns(
		WAKE_UPS * arbiter->handover.late_ns, LEAD_NS_MIN, LEAD_NS_MAX);
}

/* Calls visit for each live process's slot and its struct clv_slot_turn. */
static void visit_turns(const struct clv_arbiter_lease *lease,
	void (*visit)(const struct clv_slot *slot, const struct clv_slot_turn *turn,
		void *userdata),
	void *userdata)
{
	const struct clv_report_page *report = lease->pages.report;

	for (uint32_t word = 0; word < CLV_SLOTS / 64; word++) {
		uint64_t open = lease->open_slots[word];

		for (; open; open &= open - 1) {
			uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(open);

			visit(&report->slots[index], &report->turns[index], userdata);
		}
	}
}

struct turn_reports {
	uint64_t since_ns, now_ns;
	uint64_t began_ns; /* earliest of all processes; UINT64_MAX: none submitted */
	/* ends_ns: the end if all processes' work runs one after the other; UINT64_MAX: a
	 * process gave no usable estimate.  first_end_ns: the earliest end of one
	 * process. */
	uint64_t ends_ns, first_end_ns;
	uint64_t left_ns; /* when the last work was complete */
};

static void add_report(
	const struct clv_slot *slot, const struct clv_slot_turn *turn, void *userdata)
{
	struct turn_reports *reports = userdata;
	uint64_t began_ns = atomic_load(&turn->began_ns);
	uint64_t ends_ns = atomic_load(&turn->ends_ns);
	uint64_t left_ns = atomic_load(&slot->busy_since_ns);

	if (began_ns >= reports->since_ns && began_ns < reports->began_ns)
		reports->began_ns = began_ns;
	if (left_ns <= reports->now_ns && left_ns > reports->left_ns)
		reports->left_ns = left_ns;
	if (atomic_load(&slot->done) == atomic_load(&slot->entered))
		return;
	if (ends_ns < reports->since_ns || ends_ns > reports->now_ns + END_NS_MAX)
		reports->ends_ns = UINT64_MAX;
	if (ends_ns < reports->first_end_ns)
		reports->first_end_ns = ends_ns;
	if (reports->ends_ns != UINT64_MAX && ends_ns > reports->now_ns)
		reports->ends_ns += ends_ns - reports->now_ns;
}

static struct turn_reports read_turn_reports(
	const struct clv_arbiter_lease *lease, uint64_t since_ns, uint64_t now_ns)
{
	struct turn_reports reports = {.since_ns = since_ns,
		.now_ns = now_ns,
		.began_ns = UINT64_MAX,
		.ends_ns = now_ns,
		.first_end_ns = UINT64_MAX};

	visit_turns(lease, add_report, &reports);
	/* An end long ago does not tell since when the device is idle. */
	if (reports.left_ns + COST_NS_MAX / 4 < now_ns)
		reports.left_ns = now_ns;
	return reports;
}

uint64_t clv_handover_early_ns(const struct clv_arbiter *arbiter, uint64_t now_ns)
{
	const struct clv_arbiter_lease *lease = arbiter->holder;
	struct turn_reports reports;

	if (arbiter->config.is_processor || arbiter->handover.leaving ||
		lease->n_early_denied > 0)
		return UINT64_MAX;
	reports = read_turn_reports(lease, lease->turn_started_ns, now_ns);
	/* Work that is late has no known end. */
	if (reports.ends_ns == UINT64_MAX ||
		now_ns > reports.first_end_ns + lead_ns(arbiter))
		return UINT64_MAX;
	return reports.ends_ns - lead_ns(arbiter);
}

void clv_handover_begin(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *leaving, uint64_t now_ns)
{
	uint64_t lead = lead_ns(arbiter);

	arbiter->handover.leaving = leaving;
	arbiter->handover.ends_ns = now_ns + lead;
	arbiter->handover.latest_ns = now_ns + 3 * lead;
	leaving->stray_since_ns = now_ns;
}

static void judge_estimate(struct clv_arbiter_lease *lease, bool was_right)
{
	uint32_t n = lease->n_early_denials;

	if (was_right) {
		lease->n_early_denials = 0;
		return;
	}
	n = n ? 2 * n : DENIED_AT_FIRST;
	lease->n_early_denials = n < DENIED_MAX ? n : DENIED_MAX;
	lease->n_early_denied = lease->n_early_denials;
}

bool clv_handover_end(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	struct clv_arbiter_lease *holder = arbiter->holder;
	bool has_left = lease->n_in_flight == 0;

	if (lease != arbiter->handover.leaving)
		return false;
	if (!has_left && now_ns < arbiter->handover.latest_ns)
		return false;
	judge_estimate(lease, has_left);
	arbiter->handover.leaving = NULL;
	if (has_left && holder)
		holder->vacant_since_ns = read_turn_reports(lease, 0, now_ns).left_ns;
	return has_left;
}

static bool is_in_use(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	return clv_policy_is_awake(arbiter->policy, lease->policy_lease) ||
	       now_ns < lease->turn_started_ns + RECENT_NS;
}

/* Longer turns would move the parts of a single second further from the shares, or delay
 * requests. */
static bool needs_short_turns(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	return lease->share.class == CLV_CLASS_LATENCY ||
	       clv_publish_wakes_often(arbiter, lease, now_ns) ||
	       (lease->usual_drain_ns > LONG_DRAIN_NS &&
		       is_in_use(arbiter, lease, now_ns));
}

/* By how much turns are stretched to lose less to hand-overs, as long as no attached
 * lease needs short ones. */
static uint32_t stretch_percent(const struct clv_arbiter *arbiter, uint64_t now_ns)
{
	uint64_t slice_ns = clv_policy_slice_ns(CLV_CLASS_NORMAL);
	uint64_t wanted_ns = arbiter->handover.cost_ns * CLV_PPM / LOST_PART_PPM;
	uint64_t percent = wanted_ns * 100 / slice_ns;
	uint32_t n = 0;

	for (struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		if (l->n_slots == 0)
			continue;
		if (needs_short_turns(arbiter, l, now_ns))
			return 100;
		n += clv_policy_is_awake(arbiter->policy, l->policy_lease);
	}
	if (n > 1 && percent > ROUND_NS * 100 / (slice_ns * (n - 1)))
		percent = ROUND_NS * 100 / (slice_ns * (n - 1));
	return (uint32_t)clv_clock_bound_ns(percent, 100, STRETCH_PERCENT_MAX);
}

/* Rises slowly: a thread may also have computed before it submitted. */
static void note_wake(struct clv_arbiter_lease *lease, uint64_t took_ns)
{
	took_ns = clv_clock_bound_ns(took_ns, 1, LATE_NS_MAX);
	if (lease->wake_ns == 0 || took_ns < lease->wake_ns)
		lease->wake_ns = took_ns;
	else
		lease->wake_ns += (took_ns - lease->wake_ns) / SMOOTHING;
}

/* A thread of the driver and one of the program wake up, each in about half the time that
 * a thread needs which has slept until its turn.  The lease may report what it likes, so
 * this thread's own delay bounds it. */
uint64_t clv_handover_wait_ns(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	return clv_clock_bound_ns(lease->wake_ns, 0, arbiter->handover.late_ns);
}

void clv_handover_note_wakes(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	if (clv_policy_request_ns(arbiter->policy, CLV_CLASS_NORMAL) >
		clv_policy_slice_ns(CLV_CLASS_NORMAL))
		clv_policy_stretch(arbiter->policy, stretch_percent(arbiter, now_ns));
}

void clv_handover_measure(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	struct clv_arbiter_lease *lease = arbiter->holder;
	uint64_t vacant_ns = lease->vacant_since_ns, began_ns;

	lease->vacant_since_ns = 0;
	began_ns = read_turn_reports(lease, lease->turn_started_ns, now_ns).began_ns;
	if (began_ns <= now_ns)
		note_wake(lease, began_ns - lease->turn_started_ns);
	if (vacant_ns == 0 || began_ns > now_ns)
		return;
	arbiter->handover.cost_ns = smooth(arbiter->handover.cost_ns,
		clv_clock_bound_ns(
			began_ns > vacant_ns ? began_ns - vacant_ns : 0, 0, COST_NS_MAX));
	arbiter->handover.n_measured++;
	clv_policy_stretch(arbiter->policy, stretch_percent(arbiter, now_ns));
}

uint64_t clv_handover_charged_ns(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint64_t since_ns, uint64_t now_ns)
{
	const struct clv_handover *handover = &arbiter->handover;
	bool is_leaving = lease == handover->leaving;
	uint64_t both_ns = 0, until_ns = clv_clock_bound_ns(now_ns, 0, handover->ends_ns);

	if (!handover->leaving || !arbiter->holder ||
		(!is_leaving && lease != arbiter->holder))
		return now_ns - since_ns;
	if (until_ns > since_ns)
		both_ns = until_ns - since_ns;
	return is_leaving ? now_ns - since_ns - both_ns / 2 : both_ns / 2;
}

void clv_handover_vacate(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	if (lease->n_early_denied > 0)
		lease->n_early_denied--;
	arbiter->handover.vacant_since_ns = read_turn_reports(lease, 0, now_ns).left_ns;
}

uint64_t clv_handover_uncharged_ns(const struct clv_arbiter *arbiter)
{
	return arbiter->handover.cost_ns;
}

uint64_t clv_handover_linger_ns(const struct clv_arbiter *arbiter)
{
	return clv_clock_bound_ns(
		2 * arbiter->handover.cost_ns, CLV_HAND_OVER_NS, LINGER_NS_MAX);
}
