/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a lease.  A process counts until its pidfd says that it is dead, not
 * until its socket ends: a forked child keeps the socket, and a living process may close
 * it. */
#include "agent/attached.h"

#include "agent/agent.h"
#include "agent/devices.h"
#include "agent/events.h"
#include "agent/gate-server.h"
#include "agent/holder.h"
#include "agent/ledger.h"
#include "agent/state.h"
#include "agent/store.h"
#include "arbiter/arbiter.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_same(const struct clv_process_id *a, const struct clv_process_id *b)
{
	return a->pid == b->pid && a->start_ticks == b->start_ticks;
}

struct clv_attached *clv_attached_free(struct clv_attached *process)
{
	TAILQ_REMOVE(&process->lease->processes, process, entry);
	process->lease->n_processes--;
	clv_watch_free(process->watch);
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
	clv_events_emit(agent, CLV_EVENT_PROCESS_ENDED, lease, "process %d %s",
		(int)process->record.id.pid, how);
	clv_gate_server_forget(lease->gate, process);
	clv_attached_free(process);
	clv_ledger_check_end(agent->ledger, lease);
}

static bool has_page(const struct clv_attached *process)
{
	struct clv_arbiter_fds fds;
	struct stat st;

	if (!process->lease->arbiter_lease)
		return true;
	clv_arbiter_get_fds(process->lease->arbiter_lease, &fds);
	if (fstat(fds.report, &st) < 0)
		return true;
	return clv_process_maps_file(process->record.id.pid, st.st_dev, st.st_ino);
}

static bool can_read_maps(pid_t pid)
{
	char path[32];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0;
}

/* Not older than who died, none of the lease's own, and in the same pages, as is this
 * agent itself: a child of init, and younger than a program that saw it start. */
static bool is_heir(
	const struct clv_attached *process, pid_t pid, struct clv_process_id *ret)
{
	struct clv_process_id id = {.pid = pid};
	struct clv_attached heir = {.lease = process->lease};
	pid_t parent;

	if (pid == getpid() || clv_process_read(pid, &parent, &id.start_ticks) < 0 ||
		id.start_ticks < process->record.id.start_ticks ||
		clv_attached_is_member(process->lease, &id) || !can_read_maps(pid))
		return false;
	heir.record.id = id;
	*ret = id;
	return has_page(&heir);
}

struct heir {
	const struct clv_attached *of;
	struct clv_process_id id;
};

/* Below whom a child of a lease's process is found once that has died: who stands in for
 * the program (cleave run), or else the first process. */
static bool has_heir_below(void *userdata, pid_t parent)
{
	struct heir *heir = userdata;
	char path[64];
	bool found = false;
	FILE *children;
	int pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent,
		(int)parent);
	children = fopen(path, "re");
	while (children && !found && fscanf(children, "%d", &pid) == 1)
		found = is_heir(heir->of, pid, &heir->id);
	if (children)
		fclose(children);
	return found;
}

/* A child that was made with CLONE_VM is the same address space: what its parent
 * allocated lives on in it, and so does the gate.  No other child has the page unless it
 * has attached itself. */
static bool find_heir(const struct clv_attached *process, struct clv_process_id *ret)
{
	struct heir heir = {.of = process};

	if (!process->has_slot ||
		(!clv_holder_any(process->lease, has_heir_below, &heir) &&
			!has_heir_below(&heir, 1)))
		return false;
	*ret = heir.id;
	return true;
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
	restore_record(process, &before);
	clv_events_emit(lease->agent, CLV_EVENT_PROCESS_ATTACHED, lease,
		"process %d shares the memory of process %d, which ended, and has slot "
		"%u",
		(int)heir->pid, (int)before.id.pid, process->record.slot);
	return true;
}

static void on_death(void *userdata)
{
	struct clv_attached *process = userdata;
	struct clv_process_id heir;

	if (!find_heir(process, &heir) || !hand_over(process, &heir))
		drop(process, "ended");
	else if (process->lease->is_ending)
		clv_watch_signal(process->watch, SIGKILL);
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

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		if (!is_same(&process->record.id, id))
			continue;
		if (process->record.slot == old_slot)
			return process;
		if (!lost && !process->is_connected &&
			(!process->is_reattached || !has_page(process)))
			lost = process;
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
	uint32_t old_slot, int report_fd, struct clv_attached **ret,
	struct clv_error *err)
{
	struct clv_attached *earlier = find_earlier(lease, &peer->id, old_slot);
	struct clv_attached *process;
	int r = clv_lease_open_arbiter(lease, &peer->id, report_fd, err);

	if (r < 0) {
		close(pidfd);
		return r;
	}
	if (earlier && earlier->record.slot == old_slot && earlier->has_slot) {
		close(pidfd);
		/* A child may hold the lost connection open. */
		clv_gate_server_forget(lease->gate, earlier);
		process = earlier;
	} else {
		r = open_new(lease, peer, pidfd, old_slot, &process, err);
		if (r < 0)
			return r;
		/* After the new one is there: the lease must not seem empty. */
		if (earlier)
			drop(earlier, "started another program");
	}
	process->is_reattached = process->is_connected = true;
	process->has_told_threads = false;
	clv_events_emit(lease->agent, CLV_EVENT_PROCESS_ATTACHED, lease,
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

/* What came from an earlier agent still maps that one's page until it comes back; if it
 * maps none, it became another program while no agent was there. */
static bool has_left_pages(const struct clv_attached *process)
{
	if (process->is_connected || clv_watch_is_dead(process->watch))
		return false;
	return process->is_reattached ? !has_page(process)
				      : !clv_process_maps_report(process->record.id.pid);
}

void clv_attached_check(struct clv_lease *lease)
{
	struct clv_attached *process = TAILQ_FIRST(&lease->processes);

	while (process) {
		struct clv_attached *next = TAILQ_NEXT(process, entry);

		if (has_left_pages(process))
			drop(process, "has left its pages");
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
