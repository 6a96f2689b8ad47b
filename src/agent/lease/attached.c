/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a lease.  A process counts until its pidfd reports its death, and not
 * until its connection ends: a forked child keeps the connection open, and a living
 * process may close it. */
#include "agent/lease/attached.h"

#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/lease/orphaned-memory.h"
#include "agent/lease/shared-vm.h"
#include "agent/os/page-search.h"
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

/* The interval between checks of a process without a connection: the first and the
 * longest. */
#define CHECK_FIRST_NS (900 * CLV_NS_PER_MS)
#define CHECK_LAST_NS (8 * CLV_NS_PER_S)

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
	clv_orphaned_memory_forget_process(process);
	free(process->ancestors);
	free(process);
	return NULL;
}

/* Removes the process from the lease: its slot, its row in the state file, its
 * connection. */
static void drop(struct clv_attached *process, const char *how)
{
	struct clv_lease *lease = process->lease;
	struct clv_agent *agent = lease->agent;
	struct clv_error err = {0};
	struct clv_store *store = clv_state_get(agent, &err);

	if (process->read_rest)
		process->read_rest(process);
	clv_orphaned_memory_inherit(process);
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

static void say_inherited(
	const struct clv_attached *process, const struct clv_process_record *before)
{
	clv_lease_emit(process->lease, CLV_EVENT_PROCESS_ATTACHED,
		"process %d shares the address space that process %d left, and takes "
		"over its slot %u",
		(int)process->record.id.pid, (int)before->id.pid, process->record.slot);
}

/* Replaces the row of the former process in the state file by that of its sharer. */
static void replace_record(
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
	say_inherited(process, before);
}

/* Gives the entry of a process that ended to its sharer: the slot with its charges, and
 * the watch.  The sharer has the same gate code but no connection: the gate's helper
 * thread ended with the process. */
static bool hand_over(struct clv_attached *process, const struct clv_process_id *sharer)
{
	struct clv_lease *lease = process->lease;
	struct clv_process_record before = process->record;
	int pidfd = clv_process_open(sharer);
	struct clv_watch *watch;

	if (pidfd < 0 ||
		clv_watch_new(lease->agent->event, pidfd, on_death, process, &watch) < 0)
		return false;
	clv_watch_free(process->watch);
	process->watch = watch;
	process->record.id = *sharer;
	process->is_connected = false;
	clv_shared_vm_record(process);
	replace_record(process, &before);
	return true;
}

/* A process has an entry for each API that it uses; all go to the sharer. */
static bool hand_over_all(
	struct clv_attached *process, const struct clv_process_id *sharer)
{
	struct clv_process_id before = process->record.id;
	bool is_dead = clv_watch_is_dead(process->watch);
	struct clv_attached *other;

	if (!hand_over(process, sharer))
		return false;
	TAILQ_FOREACH(other, &process->lease->processes, entry)
	{
		if (is_same(&other->record.id, &before) && other->has_slot &&
			(is_dead || !other->is_connected))
			hand_over(other, sharer);
	}
	return true;
}

/* The process has ended or called exec.  While it is unknown whether a process shares its
 * former memory the entry stays. */
static void leave(struct clv_attached *process, const char *how)
{
	struct clv_process_id sharer;
	enum clv_lookup answer = clv_shared_vm_find(process, &sharer);

	if (answer == CLV_ANSWER_UNKNOWN)
		return;
	if (answer == CLV_ANSWER_NO || !hand_over_all(process, &sharer))
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
	clv_shared_vm_record(process);
	TAILQ_INSERT_TAIL(&lease->processes, process, entry);
	lease->n_processes++;
	return process;
}

/* The process left its memory to another while there was no agent: that one has its slot
 * now.  Returns 0, -ENOMEM, or -ESRCH: it has ended since. */
static int adopt_sharer(struct clv_lease *lease, const struct clv_process_record *before,
	const struct clv_process_id *sharer)
{
	struct clv_process_record record = *before;
	int pidfd = clv_process_open(sharer);
	struct clv_attached *process;

	if (pidfd < 0)
		return -ESRCH;
	record.id = *sharer;
	process = add(lease, &record, pidfd, NULL);
	if (!process)
		return -ENOMEM;
	replace_record(process, before);
	return 0;
}

int clv_attached_adopt(struct clv_lease *lease, const struct clv_process_record *record)
{
	const struct clv_page_user user = {
		.id = record->id, .layout = record->layout, .page = record->page};
	struct clv_process_id sharer;
	int r = clv_page_find_sharer(&user, &sharer)
			? adopt_sharer(lease, record, &sharer)
			: -ESRCH;
	int pidfd;

	if (r != -ESRCH)
		return r;
	pidfd = clv_process_open(&record->id);
	if (pidfd >= 0)
		return add(lease, record, pidfd, NULL) ? 0 : -ENOMEM;
	if (record->slot < CLV_SLOTS)
		lease->dead_slots[record->slot / 64] |= UINT64_C(1)
							<< (record->slot % 64);
	return -ESRCH;
}

/* Finds the entry that a new connection of the process replaces: the one of old_slot, if
 * the gate comes back to it (to a new agent, or after the program closed unknown
 * descriptors), or one whose pages an exec unmapped. */
static struct clv_attached *find_earlier(
	const struct clv_lease *lease, const struct clv_process_id *id, uint32_t old_slot)
{
	struct clv_attached *process, *lost = NULL;
	bool is_checked = false;

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
		} else if (!is_checked) {
			/* All its entries have one address space: check once. */
			is_checked = true;
			if (clv_shared_vm_has_page(process) == CLV_ANSWER_NO)
				lost = process;
		}
	}
	return lost;
}

/* A failing state file is no reason to refuse a running program. */
static void store_record(const struct clv_attached *process)
{
	struct clv_lease *lease = process->lease;
	struct clv_error err = {0};
	struct clv_store *store = clv_state_get(lease->agent, &err);

	if (!store || clv_store_put_process(
			      store, lease->record.id, &process->record, &err) < 0)
		clv_state_set_stale(lease->agent, &err);
}

static int open_new(struct clv_lease *lease, const struct clv_peer *peer, int pidfd,
	uint32_t old_slot, struct clv_attached **ret, struct clv_error *err)
{
	struct clv_process_record record = {
		.id = peer->id, .attached_real_ns = clv_clock_real_ns()};
	struct clv_arbiter *arbiter = lease->device->arbiter;
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
	store_record(process);
	*ret = process;
	return 0;
}

/* The page may be another than under an earlier agent. */
static void record_again(struct clv_attached *process)
{
	uint64_t before = process->record.page;

	clv_shared_vm_record(process);
	if (process->record.page != before)
		store_record(process);
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
		/* A child may keep the earlier connection open. */
		if (earlier->disconnect)
			earlier->disconnect(earlier);
		process = earlier;
		record_again(process);
	} else {
		r = open_new(lease, peer, pidfd, old_slot, &process, err);
		if (r < 0)
			return r;
		/* Only after the new entry exists: a lease without processes would
		 * end. */
		if (earlier)
			leave(earlier, "called exec");
	}
	process->is_reattached = process->is_connected = true;
	process->has_sent_threads = false;
	clv_lease_emit(lease, CLV_EVENT_PROCESS_ATTACHED,
		"process %d attached in slot %u", (int)peer->id.pid,
		process->record.slot);
	*ret = process;
	return 0;
}

void clv_attached_disconnected(struct clv_attached *process)
{
	/* A process that ends unmaps its pages shortly before its pidfd reports death, so
	 * whether this one lives on without them is decided by the next check. */
	process->is_connected = false;
}

/* The last result, reused for other entries of the same process: one address space. */
struct last_check {
	struct clv_process_id id;
	bool is_reattached;
	enum clv_lookup answer;
};

/* Whether a process without a connection no longer maps the report page.  A process from
 * an earlier agent maps that agent's page until it attaches again; if it maps none, it
 * called exec while there was no agent.  A process that has its pages is checked at
 * growing intervals. */
static bool has_left_pages(
	struct clv_attached *process, struct last_check *last, uint64_t now_ns)
{
	if (process->is_connected) {
		process->look_at_ns = process->look_interval_ns = 0;
		return false;
	}
	if (now_ns < process->look_at_ns)
		return false;
	if (!is_same(&last->id, &process->record.id) ||
		last->is_reattached != process->is_reattached)
		*last = (struct last_check){.id = process->record.id,
			.is_reattached = process->is_reattached,
			.answer = clv_shared_vm_has_page(process)};
	if (last->answer == CLV_ANSWER_UNKNOWN)
		return false;
	process->look_interval_ns = 2 * process->look_interval_ns + CHECK_FIRST_NS;
	if (process->look_interval_ns > CHECK_LAST_NS)
		process->look_interval_ns = CHECK_LAST_NS;
	process->look_at_ns = now_ns + process->look_interval_ns;
	return last->answer == CLV_ANSWER_NO;
}

void clv_attached_check(struct clv_lease *lease)
{
	struct clv_attached *process = TAILQ_FIRST(&lease->processes);
	struct last_check last = {0};
	uint64_t now_ns = clv_clock_ns();

	clv_orphaned_memory_check(lease);
	while (process) {
		struct clv_attached *next = TAILQ_NEXT(process, entry);

		if (clv_watch_is_dead(process->watch))
			leave(process, "ended");
		else if (has_left_pages(process, &last, now_ns))
			leave(process, "no longer maps the lease's pages");
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

bool clv_attached_have_ended(const struct clv_lease *lease)
{
	const struct clv_attached *process;

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		if (!clv_watch_is_dead(process->watch))
			return false;
	}
	return lease->n_processes > 0;
}
