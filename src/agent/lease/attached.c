/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a lease.  A process counts until its pidfd says that it is dead, not
 * until its socket ends: a forked child keeps the socket, and a living process may close
 * it. */
#include "agent/lease/attached.h"

#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/lease/heirs.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "arbiter/arbiter.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long after one look at a process without a connection the next one follows. */
#define LOOK_FIRST_NS (900 * CLV_NS_PER_MS)
#define LOOK_LAST_NS (8 * CLV_NS_PER_S)

static bool is_same(const struct clv_process_id *a, const struct clv_process_id *b)
{
	return a->pid == b->pid && a->start_ticks == b->start_ticks;
}

struct clv_attached *clv_attached_free(struct clv_attached *process)
{
	assert(process->lease->n_processes > 0);
	TAILQ_REMOVE(&process->lease->processes, process, entry);
	process->lease->n_processes--;
	clv_watch_free(process->watch);
	free(process->ancestors);
	free(process);
	return NULL;
}

/* The process is no part of the lease any more. */
static void drop(struct clv_attached *process, const char *how)
{
	struct clv_lease *lease = process->lease;
	struct clv_agent *agent = lease->agent;
	struct clv_error err = {0};
	struct clv_store *store = clv_state_get(agent, &err);

	if (process->has_slot && lease->arbiter_lease)
		clv_arbiter_close_slot(lease->device->arbiter, lease->arbiter_lease,
			process->record.slot);
	else if (process->record.slot < CLV_SLOTS)
		lease->dead_slots[process->record.slot / 64] |=
			UINT64_C(1) << (process->record.slot % 64);
	if (!store || clv_store_delete_process(
			      store, lease->record.id, &process->record, &err) < 0)
		clv_state_set_stale(agent, &err);
	clv_lease_emit(lease, CLV_EVENT_PROCESS_ENDED, "process %d %s",
		(int)process->record.id.pid, how);
	if (process->disconnect)
		process->disconnect(process);
	clv_attached_free(process);
	clv_notify_lease(agent->notify, CLV_NOTICE_LEASE_LEFT, lease);
}

static void on_death(void *userdata);

/* The row in the state file is another's from now on. */
static void restore_record(
	struct clv_attached *process, const struct clv_process_record *before)
{
	struct clv_lease *lease = process->lease;
	struct clv_error err = {0};
	struct clv_store *store = clv_state_get(lease->agent, &err);

	if (!store ||
		clv_store_delete_process(store, lease->record.id, before, &err) < 0 ||
		clv_store_put_process(store, lease->record.id, &process->record, &err) <
			0)
		clv_state_set_stale(lease->agent, &err);
}

/* What was the dead process's is its heir's: the slot with what is charged in it, and
 * the watch.  The heir's gate is the same, but its helper is gone with its thread. */
static bool hand_over(struct clv_attached *process, const struct clv_process_id *heir)
{
	struct clv_lease *lease = process->lease;
	struct clv_process_record before = process->record;
	int pidfd = clv_process_open(heir);
	struct clv_watch *watch;

	if (pidfd < 0 ||
		clv_watch_new(lease->agent->event, pidfd, on_death, process, &watch) < 0)
		return false;
	clv_watch_free(process->watch);
	process->watch = watch;
	process->record.id = *heir;
	process->is_connected = false;
	clv_heirs_note(process);
	restore_record(process, &before);
	clv_lease_emit(lease, CLV_EVENT_PROCESS_ATTACHED,
		"process %d shares the memory that process %d had, and has its slot %u",
		(int)heir->pid, (int)before.id.pid, process->record.slot);
	return true;
}

/* It may have several places in the lease, one of each API. */
static bool hand_over_all(struct clv_attached *process, const struct clv_process_id *heir)
{
	struct clv_process_id before = process->record.id;
	bool is_dead = clv_watch_is_dead(process->watch);
	struct clv_attached *other;

	if (!hand_over(process, heir))
		return false;
	TAILQ_FOREACH(other, &process->lease->processes, entry)
	{
		if (is_same(&other->record.id, &before) && other->has_slot &&
			(is_dead || !other->is_connected))
			hand_over(other, heir);
	}
	return true;
}

/* It has ended, or become another program.  While nobody can tell whether somebody shares
 * what was its memory, it stays. */
static void leave(struct clv_attached *process, const char *how)
{
	struct clv_process_id heir;
	enum clv_answer answer = clv_heirs_find(process, &heir);

	if (answer == CLV_ANSWER_UNKNOWN)
		return;
	if (answer == CLV_ANSWER_NO || !hand_over_all(process, &heir))
		drop(process, how);
	else if (process->lease->is_ending)
		clv_watch_signal(process->watch, SIGKILL);
}

static void on_death(void *userdata)
{
	leave(userdata, "ended");
}

static struct clv_attached *add(struct clv_lease *lease,
	const struct clv_process_record *record, int pidfd, struct clv_error *err)
{
	struct clv_attached *process = calloc(1, sizeof(*process));
	int r;

	if (!process) {
		close(pidfd);
		clv_error_errno(err, ENOMEM, "cannot attach a process");
		return NULL;
	}
	process->lease = lease;
	process->record = *record;
	r = clv_watch_new(lease->agent->event, pidfd, on_death, process, &process->watch);
	if (r < 0) {
		free(process);
		clv_error_errno(err, -r, "cannot watch a process");
		return NULL;
	}
	clv_heirs_note(process);
	TAILQ_INSERT_TAIL(&lease->processes, process, entry);
	lease->n_processes++;
	return process;
}

int clv_attached_adopt(struct clv_lease *lease, const struct clv_process_record *record)
{
	int pidfd = clv_process_open(&record->id);

	if (pidfd >= 0)
		return add(lease, record, pidfd, NULL) ? 0 : -ENOMEM;
	if (record->slot < CLV_SLOTS)
		lease->dead_slots[record->slot / 64] |= UINT64_C(1)
							<< (record->slot % 64);
	return -ESRCH;
}

/* The entry of an earlier connection of this process that its new one replaces: it comes
 * back to the same slot (to a new agent, or after it closed descriptors that it did not
 * know), or it has lost its pages to exec. */
static struct clv_attached *find_earlier(
	const struct clv_lease *lease, const struct clv_process_id *id, uint32_t old_slot)
{
	struct clv_attached *process, *lost = NULL;
	bool has_looked = false;

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		if (!is_same(&process->record.id, id))
			continue;
		if (process->record.slot == old_slot)
			return process;
		if (lost || process->is_connected)
			continue;
		if (!process->is_reattached) {
			lost = process;
		} else if (!has_looked) {
			/* All of its entries are of one address space. */
			has_looked = true;
			if (clv_heirs_has_page(process) == CLV_ANSWER_NO)
				lost = process;
		}
	}
	return lost;
}

static int open_new(struct clv_lease *lease, const struct clv_peer *peer, int pidfd,
	uint32_t old_slot, struct clv_attached **ret, struct clv_error *err)
{
	struct clv_process_record record = {
		.id = peer->id, .attached_real_ns = clv_clock_real_ns()};
	struct clv_arbiter *arbiter = lease->device->arbiter;
	struct clv_error problem = {0};
	struct clv_store *store = clv_state_get(lease->agent, &problem);
	struct clv_attached *process;
	int r;

	r = clv_arbiter_open_slot(
		arbiter, lease->arbiter_lease, old_slot, &record.slot, err);
	if (r < 0) {
		close(pidfd);
		return r;
	}
	process = add(lease, &record, pidfd, err);
	if (!process) {
		clv_arbiter_close_slot(arbiter, lease->arbiter_lease, record.slot);
		return -ENOMEM;
	}
	process->has_slot = true;
	/* A program that runs is not turned away for the sake of the state file. */
	if (!store ||
		clv_store_put_process(store, lease->record.id, &record, &problem) < 0)
		clv_state_set_stale(lease->agent, &problem);
	*ret = process;
	return 0;
}

int clv_attached_attach(struct clv_lease *lease, const struct clv_peer *peer, int pidfd,
	uint32_t old_slot, struct clv_attached **ret, struct clv_error *err)
{
	struct clv_attached *earlier = find_earlier(lease, &peer->id, old_slot);
	struct clv_attached *process;
	int r;

	assert(lease->arbiter_lease && !lease->record.is_queued);
	if (earlier && earlier->record.slot == old_slot && earlier->has_slot) {
		close(pidfd);
		/* A child may hold the lost connection open. */
		if (earlier->disconnect)
			earlier->disconnect(earlier);
		process = earlier;
	} else {
		r = open_new(lease, peer, pidfd, old_slot, &process, err);
		if (r < 0)
			return r;
		/* After the new one is there: the lease must not seem empty. */
		if (earlier)
			leave(earlier, "started another program");
	}
	process->is_reattached = process->is_connected = true;
	process->has_told_threads = false;
	clv_lease_emit(lease, CLV_EVENT_PROCESS_ATTACHED,
		"process %d attached in slot %u", (int)peer->id.pid,
		process->record.slot);
	*ret = process;
	return 0;
}

void clv_attached_disconnected(struct clv_attached *process)
{
	/* A process that ends loses its pages a moment before its pidfd says so: whether
	 * this one lives on without them shows at the next look. */
	process->is_connected = false;
}

/* All entries of a process are of one address space. */
struct last_look {
	struct clv_process_id id;
	bool is_reattached;
	enum clv_answer answer;
};

/* What came from an earlier agent still maps that one's page until it comes back; if it
 * maps none, it became another program while no agent was there.  Who has its pages is
 * looked at less and less often. */
static bool has_left_pages(
	struct clv_attached *process, struct last_look *last, uint64_t now_ns)
{
	if (process->is_connected) {
		process->look_at_ns = process->look_interval_ns = 0;
		return false;
	}
	if (now_ns < process->look_at_ns)
		return false;
	if (!is_same(&last->id, &process->record.id) ||
		last->is_reattached != process->is_reattached)
		*last = (struct last_look){.id = process->record.id,
			.is_reattached = process->is_reattached,
			.answer = clv_heirs_has_page(process)};
	if (last->answer == CLV_ANSWER_UNKNOWN)
		return false;
	process->look_interval_ns = 2 * process->look_interval_ns + LOOK_FIRST_NS;
	if (process->look_interval_ns > LOOK_LAST_NS)
		process->look_interval_ns = LOOK_LAST_NS;
	process->look_at_ns = now_ns + process->look_interval_ns;
	return last->answer == CLV_ANSWER_NO;
}

void clv_attached_check(struct clv_lease *lease)
{
	struct clv_attached *process = TAILQ_FIRST(&lease->processes);
	struct last_look last = {0};
	uint64_t now_ns = clv_clock_ns();

	while (process) {
		struct clv_attached *next = TAILQ_NEXT(process, entry);

		if (clv_watch_is_dead(process->watch))
			leave(process, "ended");
		else if (has_left_pages(process, &last, now_ns))
			leave(process, "has left its pages");
		process = next;
	}
}

bool clv_attached_is_member(
	const struct clv_lease *lease, const struct clv_process_id *id)
{
	const struct clv_attached *process;

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		if (is_same(&process->record.id, id) &&
			!clv_watch_is_dead(process->watch))
			return true;
	}
	return false;
}
