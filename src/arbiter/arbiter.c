/* SPDX-License-Identifier: Apache-2.0 */
/* The arbiter's interface and its thread.  The thread sleeps until a doorbell rings, the
 * agent kicks it, or a turn is due, and then lets turns.c advance the device. */
#include "arbiter/arbiter.h"

#include "arbiter/account.h"
#include "arbiter/handover.h"
#include "arbiter/internal.h"
#include "arbiter/preempt.h"
#include "arbiter/publish.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define DEFAULT_DRAIN_TIMEOUT_NS CLV_NS_PER_S
#define RINGS_PER_MS 10
#define EVENTS_AT_ONCE 64

static void lock(struct clv_arbiter *arbiter)
{
	pthread_mutex_lock(&arbiter->lock);
}

static void unlock(struct clv_arbiter *arbiter)
{
	pthread_mutex_unlock(&arbiter->lock);
}

static void kick(const struct clv_arbiter *arbiter)
{
	eventfd_write(arbiter->kick_fd, 1);
}

static void listen_to(const struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	bool listening)
{
	struct epoll_event event = {
		.events = listening ? EPOLLIN : 0,
		.data.ptr = lease,
	};

	epoll_ctl(arbiter->epoll_fd, EPOLL_CTL_MOD, lease->pages.doorbell_fd, &event);
	lease->muted = !listening;
}

/* A lease that rings too often is muted until its millisecond is over: it delays only
 * itself, and the arbiter keeps its time for the others. */
static void handle_ring(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	char rings[4096];

	/* epoll is level-triggered: what does not fit is read next time. */
	(void)!read(lease->pages.doorbell_fd, rings, sizeof(rings));
	lease->rung = true;
	if (now_ns - lease->rings_since_ns >= CLV_NS_PER_MS) {
		lease->rings_since_ns = now_ns;
		lease->n_rings = 0;
	}
	if (++lease->n_rings >= RINGS_PER_MS)
		listen_to(arbiter, lease, false);
}

static uint64_t unmute(struct clv_arbiter *arbiter, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		uint64_t until_ns = l->rings_since_ns + CLV_NS_PER_MS;

		if (!l->muted)
			continue;
		if (now_ns >= until_ns)
			listen_to(arbiter, l, true);
		else if (until_ns < next_ns)
			next_ns = until_ns;
	}
	return next_ns;
}

/* Locks the beacons of new leases and frees removed leases.  Only this thread may lock
 * and unlock beacons: robust mutexes are in the list of the thread that holds them. */
static void tend_leases(struct clv_arbiter *arbiter)
{
	struct clv_arbiter_lease **link = &arbiter->leases;

	while (*link) {
		struct clv_arbiter_lease *lease = *link;

		if (!lease->beacon_held && !lease->removed) {
			pthread_mutex_lock(&lease->pages.control->beacon.mutex);
			lease->beacon_held = true;
			pthread_cond_broadcast(&arbiter->beacon_locked);
		}
		if (!lease->removed) {
			link = &lease->next;
			continue;
		}
		if (lease->beacon_held)
			pthread_mutex_unlock(&lease->pages.control->beacon.mutex);
		*link = lease->next;
		clv_preempt_forget_all(lease);
		clv_pages_done(&lease->pages);
		free(lease);
	}
}

static void wait_for_events(struct clv_arbiter *arbiter, uint64_t until_ns)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	uint64_t now_ns = clv_clock_ns();
	uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec timeout = {
		.tv_sec = (time_t)(wait_ns / CLV_NS_PER_S),
		.tv_nsec = (long)(wait_ns % CLV_NS_PER_S),
	};
	int n = epoll_pwait2(arbiter->epoll_fd, events, EVENTS_AT_ONCE,
		until_ns == UINT64_MAX ? NULL : &timeout, NULL);

	lock(arbiter);
	now_ns = clv_clock_ns();
	if (n == 0 && wait_ns > 0 && now_ns > until_ns)
		clv_handover_note_late(arbiter, now_ns - until_ns);
	for (int i = 0; i < n; i++) {
		eventfd_t count;

		if (events[i].data.ptr)
			handle_ring(arbiter, events[i].data.ptr, now_ns);
		else
			eventfd_read(arbiter->kick_fd, &count);
	}
	unlock(arbiter);
}

static void *run(void *userdata)
{
	struct clv_arbiter *arbiter = userdata;
	uint64_t until_ns = UINT64_MAX;
	bool stopping = false;

	clv_thread_block_signals();
	clv_thread_make_prompt();
	while (!stopping) {
		uint64_t unmute_ns, now_ns;

		wait_for_events(arbiter, until_ns);
		lock(arbiter);
		tend_leases(arbiter);
		now_ns = clv_clock_ns();
		until_ns = clv_turns_step(arbiter, now_ns);
		unmute_ns = unmute(arbiter, now_ns);
		if (unmute_ns < until_ns)
			until_ns = unmute_ns;
		stopping = arbiter->stopping;
		unlock(arbiter);
	}
	/* The thread ends with the beacons of live leases locked: the kernel sets
	 * FUTEX_OWNER_DIED, and the gates look for the next agent. */
	return NULL;
}

static int open_fds(struct clv_arbiter *arbiter, struct clv_error *err)
{
	struct epoll_event event = {.events = EPOLLIN};

	arbiter->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (arbiter->epoll_fd < 0)
		return clv_error_errno(
			err, errno, "cannot create the arbiter's poll set");
	arbiter->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (arbiter->kick_fd < 0 ||
		epoll_ctl(arbiter->epoll_fd, EPOLL_CTL_ADD, arbiter->kick_fd, &event) < 0)
		return clv_error_errno(
			err, errno, "cannot create the arbiter's wake-up event");
	return 0;
}

int clv_arbiter_new(const struct clv_arbiter_config *config, struct clv_arbiter **ret,
	struct clv_error *err)
{
	struct clv_arbiter *arbiter = calloc(1, sizeof(*arbiter));
	int r;

	if (!arbiter)
		return clv_error_errno(err, ENOMEM, "cannot create an arbiter");
	arbiter->config = *config;
	if (arbiter->config.drain_timeout_ns == 0)
		arbiter->config.drain_timeout_ns = DEFAULT_DRAIN_TIMEOUT_NS;
	arbiter->handover.cost_ns = CLV_HAND_OVER_NS;
	arbiter->epoll_fd = arbiter->kick_fd = -1;
	pthread_mutex_init(&arbiter->lock, NULL);
	pthread_cond_init(&arbiter->beacon_locked, NULL);
	arbiter->policy = clv_policy_new();
	r = arbiter->policy ? open_fds(arbiter, err)
			    : clv_error_errno(err, ENOMEM, "cannot create an arbiter");
	if (r == 0) {
		r = -pthread_create(&arbiter->thread, NULL, run, arbiter);
		if (r < 0)
			clv_error_errno(err, -r, "cannot start the arbiter");
	}
	if (r < 0) {
		arbiter->stopping = true;
		clv_arbiter_free(arbiter);
		return r;
	}

	*ret = arbiter;
	return 0;
}

struct clv_arbiter *clv_arbiter_free(struct clv_arbiter *arbiter)
{
	if (!arbiter)
		return NULL;
	if (!arbiter->stopping) {
		lock(arbiter);
		arbiter->stopping = true;
		unlock(arbiter);
		kick(arbiter);
		pthread_join(arbiter->thread, NULL);
	}
	while (arbiter->leases) {
		struct clv_arbiter_lease *lease = arbiter->leases;

		arbiter->leases = lease->next;
		/* Opens the gates, so that threads in line need not detect that the agent
		 * ended. */
		clv_preempt_resume(arbiter, lease);
		clv_preempt_forget_all(lease);
		clv_publish_window(arbiter, lease, CLV_PHASE_OPEN, clv_clock_ns());
		clv_publish_phase(lease, CLV_PHASE_OPEN);
		clv_pages_done(&lease->pages);
		free(lease);
	}
	clv_policy_free(arbiter->policy);
	clv_close_fd(&arbiter->epoll_fd);
	clv_close_fd(&arbiter->kick_fd);
	pthread_cond_destroy(&arbiter->beacon_locked);
	pthread_mutex_destroy(&arbiter->lock);
	free(arbiter);
	return NULL;
}

static struct clv_policy_params params_of(const struct clv_share *share)
{
	return (struct clv_policy_params){
		.weight_ppm = share->compute_ppm,
		.cap_ppm = share->cap_ppm,
		.class = share->class,
	};
}

static int publish_lease(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	const char *tenant, struct clv_error *err)
{
	struct clv_policy_params params = params_of(&lease->share);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = lease};
	int r;

	params.tenant = tenant;
	r = clv_policy_add(
		arbiter->policy, &params, clv_clock_ns(), &lease->policy_lease);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot add a lease");
	if (epoll_ctl(arbiter->epoll_fd, EPOLL_CTL_ADD, lease->pages.doorbell_fd,
		    &event) < 0) {
		clv_policy_remove(arbiter->policy, lease->policy_lease, clv_clock_ns());
		return clv_error_errno(err, errno, "cannot listen to a lease's doorbell");
	}

	lease->next = arbiter->leases;
	arbiter->leases = lease;
	return 0;
}

/* A gate that got the pages before the beacon is locked would never see that this agent
 * died. */
static void wait_for_beacon(
	struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	lock(arbiter);
	while (!lease->beacon_held)
		pthread_cond_wait(&arbiter->beacon_locked, &arbiter->lock);
	unlock(arbiter);
}

static void publish_share(const struct clv_arbiter_lease *lease)
{
	struct clv_control_page *control = lease->pages.control;

	atomic_store(&control->memory_quota_bytes, lease->share.memory_bytes);
	atomic_store(&control->spill_bytes, lease->share.spill_bytes);
	atomic_store(&control->share_ppm, lease->share.compute_ppm);
}

void clv_arbiter_set_sm(
	struct clv_arbiter_lease *lease, uint32_t ppm, const struct clv_sm_part *part)
{
	struct clv_control_page *control = lease->pages.control;

	control->sm_ppm = ppm;
	control->sm_first = part->first;
	control->sm_count = part->count;
}

int clv_arbiter_add(struct clv_arbiter *arbiter, const struct clv_share *share,
	const char *tenant, int report_fd, struct clv_arbiter_lease **ret,
	struct clv_error *err)
{
	struct clv_arbiter_lease *lease = calloc(1, sizeof(*lease));
	int r;

	if (!lease)
		return clv_error_errno(err, ENOMEM, "cannot add a lease");
	lease->share = *share;
	lease->drain_timeout_ns = arbiter->config.drain_timeout_ns;
	r = clv_pages_init(
		&lease->pages, arbiter->config.device_memory_bytes, report_fd, err);
	if (r < 0) {
		free(lease);
		return r;
	}
	publish_share(lease);
	lock(arbiter);
	r = publish_lease(arbiter, lease, tenant, err);
	unlock(arbiter);
	if (r < 0) {
		clv_pages_done(&lease->pages);
		free(lease);
		return r;
	}
	kick(arbiter);
	wait_for_beacon(arbiter, lease);

	*ret = lease;
	return 0;
}

void clv_arbiter_remove(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease)
{
	lock(arbiter);
	clv_turns_remove_lease(arbiter, lease, clv_clock_ns());
	epoll_ctl(arbiter->epoll_fd, EPOLL_CTL_DEL, lease->pages.doorbell_fd, NULL);
	lease->removed = true;
	unlock(arbiter);
	kick(arbiter);
}

void clv_arbiter_each_debt(
	struct clv_arbiter *arbiter, clv_arbiter_debt_fn fn, void *userdata)
{
	struct clv_policy_debt debt;
	uint32_t at = 0;

	lock(arbiter);
	clv_turns_charge(arbiter, clv_clock_ns());
	while (clv_policy_next_debt(arbiter->policy, &at, &debt))
		fn(userdata, &debt);
	unlock(arbiter);
}

int clv_arbiter_restore_debt(
	struct clv_arbiter *arbiter, const struct clv_policy_debt *debt)
{
	int r;

	lock(arbiter);
	r = clv_policy_restore_debt(arbiter->policy, debt);
	unlock(arbiter);
	return r;
}

void clv_arbiter_update(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	const struct clv_share *share)
{
	struct clv_policy_params params = params_of(share);

	lock(arbiter);
	lease->share = *share;
	clv_policy_update(arbiter->policy, lease->policy_lease, &params, clv_clock_ns());
	publish_share(lease);
	unlock(arbiter);
	kick(arbiter);
}

static bool slot_is_open(const struct clv_arbiter_lease *lease, uint32_t slot)
{
	return lease->open_slots[slot / 64] >> (slot % 64) & 1;
}

/* Stores field by field, atomically: the tenant may be reading the slot. */
static void clear_slot(struct clv_report_page *report, uint32_t index)
{
	struct clv_slot *slot = &report->slots[index];

	atomic_store(&report->spilled_bytes[index], 0);
	atomic_store(&report->turns[index].began_ns, 0);
	atomic_store(&report->turns[index].ends_ns, 0);
	atomic_store(&report->turns[index].n_starts, 0);
	atomic_store(&report->turns[index].n_changes, 0);
	atomic_store(&slot->waiting, 0);
	atomic_store(&slot->done, 0);
	atomic_store(&slot->entered, 0);
	atomic_store(&slot->memory_bytes, 0);
	atomic_store(&slot->busy_ns, 0);
	atomic_store(&slot->refused, 0);
	atomic_store(&slot->waited_ns, 0);
	atomic_store(&slot->pid, 0);
}

int clv_arbiter_open_slot(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint32_t old_slot, uint32_t *ret_slot, struct clv_error *err)
{
	struct clv_control_page *control = lease->pages.control;
	uint32_t slot = 0;

	lock(arbiter);
	if (old_slot < CLV_SLOTS && !slot_is_open(lease, old_slot))
		slot = old_slot;
	else
		while (slot < CLV_SLOTS && slot_is_open(lease, slot))
			slot++;
	if (slot < CLV_SLOTS) {
		if (slot != old_slot)
			clear_slot(lease->pages.report, slot);
		/* What the process did under an earlier agent was charged then. */
		lease->done_at_idle_ns +=
			atomic_load(&lease->pages.report->slots[slot].busy_ns);
		lease->open_slots[slot / 64] |= UINT64_C(1) << (slot % 64);
		lease->n_slots++;
		lease->rung = true;
		if (atomic_load(&control->slots_used) <= slot)
			atomic_store(&control->slots_used, slot + 1);
	}
	unlock(arbiter);
	if (slot >= CLV_SLOTS)
		return clv_error_set(err, -ENOSPC,
			"%u processes are attached to this lease, and no more can "
			"attach",
			CLV_SLOTS);
	kick(arbiter);

	*ret_slot = slot;
	return 0;
}

void clv_arbiter_publish_used(const struct clv_arbiter_lease *lease, double share_used)
{
	atomic_store(&lease->pages.control->share_used_ppm, (uint32_t)(share_used * 1e6));
}

void clv_arbiter_close_slot_at(struct clv_arbiter *arbiter,
	struct clv_arbiter_lease *lease, uint32_t slot, uint64_t now_ns)
{
	if (slot >= CLV_SLOTS || !slot_is_open(lease, slot))
		return;
	/* Charge first: the slot's busy time is cleared with it. */
	clv_turns_charge(arbiter, now_ns);
	clv_account_observe_and_charge(arbiter, lease, now_ns);
	clear_slot(lease->pages.report, slot);
	clv_preempt_forget(lease, slot);
	lease->open_slots[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
	lease->n_slots--;
	clv_account_begin_busy(lease, clv_account_reported_busy_ns(lease, now_ns));
	clv_account_observe_and_charge(arbiter, lease, now_ns);
	lease->rung = true;
}

void clv_arbiter_close_slot(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint32_t slot)
{
	lock(arbiter);
	clv_arbiter_close_slot_at(arbiter, lease, slot, clv_clock_ns());
	unlock(arbiter);
	kick(arbiter);
}

static void publish_overhead(const struct clv_arbiter_lease *lease)
{
	atomic_store(&lease->pages.control->memory_overhead_bytes,
		lease->overhead_bytes + lease->orphaned_bytes);
}

void clv_arbiter_set_overhead(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t n_bytes)
{
	(void)arbiter;
	lease->overhead_bytes = n_bytes;
	publish_overhead(lease);
}

void clv_arbiter_set_orphaned(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t n_bytes)
{
	(void)arbiter;
	lease->orphaned_bytes = n_bytes;
	publish_overhead(lease);
}

/* Whether the lease holds the device without a deadline, and what its control page says
 * about the end of a turn is no longer so. */
static bool is_window_outdated(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	return arbiter->holder == lease && clv_lease_is_relaxed(lease) &&
	       atomic_load(&lease->pages.control->is_preemptible) !=
		       clv_preempt_may_stop_next_turn(arbiter, lease);
}

/* Whether the arbiter must run a step after an object was noted with result r: work that
 * is being waited for may now be stoppable, or work that was stopped may run after an
 * error. */
static bool needs_step(
	const struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, int r)
{
	lease->rung |= r < 0 && lease->is_stopped;
	return lease->rung || (arbiter->closing && arbiter->holder == lease) ||
	       is_window_outdated(arbiter, lease);
}

int clv_arbiter_note_object(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint32_t slot, int fd, const struct clv_rm_object *object, uint64_t as_of)
{
	bool must_kick = false;
	int r = 0;

	lock(arbiter);
	if (slot < CLV_SLOTS && slot_is_open(lease, slot)) {
		r = clv_preempt_note(arbiter, lease, slot, fd, object, as_of);
		must_kick = needs_step(arbiter, lease, r);
	}
	unlock(arbiter);
	if (must_kick)
		kick(arbiter);
	return r;
}

void clv_arbiter_note_object_lost(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint32_t slot)
{
	bool must_kick = false;

	lock(arbiter);
	if (slot < CLV_SLOTS && slot_is_open(lease, slot)) {
		clv_preempt_note_lost(lease, slot);
		must_kick = needs_step(arbiter, lease, -EIO);
	}
	unlock(arbiter);
	if (must_kick)
		kick(arbiter);
}

enum clv_preempt_knowledge clv_arbiter_known(struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint32_t *ret_slot)
{
	enum clv_preempt_knowledge known;

	lock(arbiter);
	known = clv_preempt_known(arbiter, lease, ret_slot);
	unlock(arbiter);
	return known;
}

void clv_arbiter_set_method(struct clv_arbiter *arbiter, enum clv_rm_method method)
{
	lock(arbiter);
	for (struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		bool is_off = l->is_stopped;

		clv_preempt_resume(arbiter, l);
		l->rung |= is_off;
		if (method == CLV_RM_BY_NOTHING)
			atomic_store(&l->pages.control->is_preemptible, 0);
	}
	arbiter->method = method;
	arbiter->n_refusals = 0;
	unlock(arbiter);
	kick(arbiter);
}

void clv_arbiter_halt_threads(struct clv_arbiter *arbiter, enum clv_halt_policy halting)
{
	lock(arbiter);
	for (struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		l->rung |= l->is_stopped;
		clv_preempt_resume(arbiter, l);
		if (halting != CLV_HALTING_ALWAYS)
			atomic_store(&l->pages.control->is_preemptible, 0);
	}
	arbiter->halting = halting;
	unlock(arbiter);
	kick(arbiter);
}

int clv_arbiter_note_threads(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint32_t slot, pid_t pid, const int32_t *tids, uint32_t n)
{
	int r = 0;

	lock(arbiter);
	if (slot < CLV_SLOTS && slot_is_open(lease, slot))
		r = clv_preempt_note_threads(lease, slot, pid, tids, n);
	unlock(arbiter);
	return r;
}

uint32_t clv_arbiter_retry_resume(struct clv_arbiter *arbiter)
{
	bool must_kick = false;
	uint32_t refusal;

	lock(arbiter);
	for (struct clv_arbiter_lease *l = arbiter->leases; l; l = l->next) {
		if (!l->is_stopped)
			clv_preempt_resume(arbiter, l);
		must_kick |= is_window_outdated(arbiter, l);
	}
	refusal = arbiter->n_refusals >= CLV_PREEMPT_REFUSALS ? arbiter->refusal : 0;
	unlock(arbiter);
	if (must_kick)
		kick(arbiter);
	return refusal;
}

void clv_arbiter_publish_time(
	struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	lock(arbiter);
	atomic_store(&lease->pages.control->heartbeat_ns, clv_clock_ns());
	unlock(arbiter);
}

void clv_arbiter_get_fds(
	const struct clv_arbiter_lease *lease, struct clv_arbiter_fds *ret)
{
	ret->control = lease->pages.control_fd;
	ret->report = lease->pages.report_fd;
	ret->doorbell = lease->pages.ring_fd;
}

void clv_arbiter_get_turns(struct clv_arbiter *arbiter, struct clv_arbiter_turns *ret)
{
	lock(arbiter);
	*ret = (struct clv_arbiter_turns){
		.is_known = arbiter->handover.n_measured > 0,
		.hand_over_ns = arbiter->handover.cost_ns,
		.turn_ns = clv_policy_request_ns(arbiter->policy, CLV_CLASS_NORMAL),
	};
	unlock(arbiter);
}

uint64_t clv_arbiter_slot_memory(const struct clv_arbiter_lease *lease, uint32_t slot)
{
	return slot < CLV_SLOTS
		       ? atomic_load(&lease->pages.report->slots[slot].memory_bytes)
		       : 0;
}

void clv_arbiter_sample(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	struct clv_arbiter_sample *ret)
{
	uint64_t now_ns, done;
	bool has_strayed;

	lock(arbiter);
	now_ns = clv_clock_ns();
	clv_turns_charge(arbiter, now_ns);
	/* The gate may not have rung, or was muted. */
	if (arbiter->holder != lease)
		clv_account_observe_and_charge(arbiter, lease, now_ns);
	has_strayed = lease->stray_since_ns == now_ns;
	*ret = lease->account;
	if (lease->waiting_since_ns > 0)
		ret->waiting_ns += now_ns - lease->waiting_since_ns;
	ret->lag_ns = clv_policy_lag_ns(arbiter->policy, lease->policy_lease);
	ret->n_slots = lease->n_slots;
	ret->holding = arbiter->holder == lease;
	for (uint32_t i = 0; i < CLV_SLOTS; i++) {
		const struct clv_slot *slot = &lease->pages.report->slots[i];

		if (!slot_is_open(lease, i))
			continue;
		ret->memory_used_bytes += atomic_load(&slot->memory_bytes);
		ret->spilled_bytes += atomic_load(&lease->pages.report->spilled_bytes[i]);
		ret->busy_ns += atomic_load(&slot->busy_ns);
		ret->waited_ns += atomic_load(&slot->waited_ns);
		ret->refused += atomic_load(&slot->refused);
		done = atomic_load(&slot->done);
		ret->done += done;
		ret->in_flight |= atomic_load(&slot->entered) > done;
		ret->waiting |= atomic_load(&slot->waiting) > 0;
	}
	ret->waiting &= !ret->holding;
	ret->memory_overhead_bytes =
		atomic_load(&lease->pages.control->memory_overhead_bytes);
	ret->memory_used_bytes += ret->memory_overhead_bytes;
	unlock(arbiter);
	if (has_strayed)
		kick(arbiter);
}
