/* SPDX-License-Identifier: Apache-2.0 */
/* The process's attachment: created at the first call that needs it, wiped in every child
 * however it was created, and replaced when a new agent takes over. */
#include "gate/attach/attachment.h"

#include "base/clock.h"
#include "gate/attach/attach.h"
#include "gate/attach/sm.h"
#include "gate/process/profile.h"
#include "gate/process/state.h"
#include "gate/process/thread.h"
#include "gate/process/view.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SEEK_INTERVAL_NS (50 * CLV_NS_PER_MS)
#define CARRY_OVER_PAUSE_NS (2 * CLV_NS_PER_MS)

static pthread_once_t forkless_once = PTHREAD_ONCE_INIT;
static _Atomic uint32_t last_epoch;

/* The views whose descriptors are open, in this memory: a forked child has copies of its
 * parent's. */
static struct {
	_Atomic(struct clv_view *) present, retired;
} views;

/* The child has none of its parent's pages (MADV_DONTFORK), and gets its own
 * descriptors. */
static void close_inherited(void)
{
	struct clv_view *present = atomic_exchange(&views.present, NULL);
	struct clv_view *retired = atomic_exchange(&views.retired, NULL);

	if (present)
		clv_attach_close(present);
	if (retired)
		clv_attach_close(retired);
}

/* Resets the state in a child, which has no helper and nothing in flight. */
static void forget_parent(void)
{
	atomic_store(&clv_gate.flight, 0);
	atomic_store(&clv_gate.n_busy_queues, 0);
	atomic_store(&clv_gate.n_window_waiters, 0);
	atomic_store(&clv_gate.n_in_callback, 0);
	atomic_store(&clv_gate.n_in_wait, 0);
	atomic_store(&clv_gate.helper_started, 0);
	atomic_store(&clv_gate.helper_sleeps, 0);
	atomic_store(&clv_gate.idle_reported_key, 0);
	atomic_store(&clv_gate.watched_turn, 0);
	atomic_store(&clv_gate.idle_since_ns, 0);
	atomic_store(&clv_gate.ends_ns, 0);
	atomic_store(&clv_gate.seeking, 0);
	atomic_store(&clv_gate.turnstile_started, 0);
	/* The child may have been forked in a callback. */
	clv_gate_thread.callback_depth = 0;
	clv_gate_thread.n_marking = 0;
	clv_gate_thread.last_queue = &clv_no_queue;
	clv_gate.api->forget_parent();
}

static void forget_parent_once(void)
{
	if (!atomic_exchange(&clv_wiped_on_fork->has_forgotten, 1))
		forget_parent();
}

/* In a child of fork(): at once, because it may end objects of its parent before it opens
 * a device of its own, and a thread that only the parent has may have had a lock.  A
 * child that was made in another way forgets when it attaches. */
static void on_fork(void)
{
	if (clv_gate.api)
		forget_parent_once();
}

static void map_forkless(void)
{
	void *page = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	madvise(page, 4096, MADV_WIPEONFORK);
	clv_wiped_on_fork = page;
	pthread_atfork(NULL, NULL, on_fork);
}

void clv_gate_init(const struct clv_gate_api *api)
{
	pthread_once(&forkless_once, map_forkless);
	clv_gate.api = api;
	clv_profile_open();
}

static void attach_process(void)
{
	struct clv_view *view = NULL;
	enum clv_attachment outcome;

	if (atomic_load(&last_epoch) > 0) {
		forget_parent_once();
		close_inherited();
	}
	atomic_store(&clv_wiped_on_fork->epoch, atomic_fetch_add(&last_epoch, 1) + 1);
	atomic_store(&clv_wiped_on_fork->pid, getpid());
	outcome = clv_attach(clv_gate.api->attach_api, NULL, false, &view);
	atomic_store(&views.present, view);
	atomic_store_explicit(&clv_wiped_on_fork->view, view, memory_order_release);
	atomic_store(&clv_wiped_on_fork->settled, 1 + (uint32_t)outcome);
}

struct clv_view *clv_gate_view(bool *ret_refused)
{
	struct clv_view *view = clv_gate_current_view();
	int saved_errno = errno;

	*ret_refused = false;
	if (view)
		return view;
	if (atomic_load(&clv_wiped_on_fork->settled) == 0) {
		pthread_mutex_lock(&clv_wiped_on_fork->attach_lock);
		if (atomic_load(&clv_wiped_on_fork->settled) == 0)
			attach_process();
		pthread_mutex_unlock(&clv_wiped_on_fork->attach_lock);
	}
	*ret_refused = atomic_load(&clv_wiped_on_fork->settled) == 1 + CLV_REFUSED;
	errno = saved_errno;
	return clv_gate_current_view();
}

static void move(_Atomic uint64_t *from, _Atomic uint64_t *to)
{
	atomic_fetch_add(to, atomic_exchange(from, 0));
}

static bool has_same_page(const struct clv_view *a, const struct clv_view *b)
{
	return a->report_device == b->report_device && a->report_inode == b->report_inode;
}

/* `done` is taken first and added last: commands that complete in between seem to be in
 * flight until the next move, and no command in flight is ever missed. */
static void move_all(const struct clv_view *old, struct clv_view *view)
{
	uint64_t done = atomic_exchange(&old->slot->done, 0);

	move(&old->slot->entered, &view->slot->entered);
	atomic_fetch_add(&view->slot->done, done);
	move(&old->slot->memory_bytes, &view->slot->memory_bytes);
	if (old->spilled_bytes && view->spilled_bytes)
		move(old->spilled_bytes, view->spilled_bytes);
}

/* The new slot mostly is the old one in the same page.  If the page's descriptor was
 * lost, this process's counters move to the new page: as differences, since other threads
 * keep counting, for a moment still in the old slot. */
static void carry_over(const struct clv_view *old, struct clv_view *view)
{
	struct timespec pause = {.tv_nsec = CARRY_OVER_PAUSE_NS};

	if (has_same_page(old, view) && old->slot_index == view->slot_index)
		return;
	move_all(old, view);
	nanosleep(&pause, NULL);
	move_all(old, view);
}

/* A thread may be preempted just before it increments `entered` in the view that it
 * looked up, and increment `done` in the next: without this that command would be missing
 * for ever.  An old slot of the same page may belong to another process by now. */
void clv_gate_carry_leftovers(void)
{
	struct clv_view *old = atomic_load(&views.retired),
			*view = clv_gate_current_view();

	if (old && view && !has_same_page(old, view))
		move_all(old, view);
}

/* Another thread may be about to ring with the old view, so its descriptors stay open for
 * one more generation. */
static void retire(struct clv_view *old)
{
	struct clv_view *last = atomic_exchange(&views.retired, old);

	if (last)
		clv_attach_close(last);
}

static bool replace_view(struct clv_view *old)
{
	struct clv_view *view = NULL;

	if (clv_attach(clv_gate.api->attach_api, old, true, &view) != CLV_ATTACHED)
		return false;
	atomic_store(&views.present, view);
	atomic_store_explicit(&clv_wiped_on_fork->view, view, memory_order_release);
	atomic_store(&clv_gate.idle_reported_key, 0);
	clv_sm_tell_again(old, view);
	if (clv_gate.api->report_again)
		clv_gate.api->report_again(view);
	carry_over(old, view);
	retire(old);
	/* The helper may sleep on the old page. */
	clv_helper_wake();
	return true;
}

/* An agent that has just started may be slow to answer.  Only this thread waits for that,
 * not the program's threads nor the helper, which books completed work. */
static void *run_seek(void *userdata)
{
	struct timespec pause = {.tv_nsec = SEEK_INTERVAL_NS};
	bool found = false;

	(void)userdata;
	while (!found) {
		struct clv_view *view = clv_gate_current_view();

		found = !clv_gate_agent_is_dead(view) && clv_attach_is_intact(view);
		if (!found) {
			pthread_mutex_lock(&clv_wiped_on_fork->attach_lock);
			found = replace_view(view);
			pthread_mutex_unlock(&clv_wiped_on_fork->attach_lock);
		}
		if (!found)
			nanosleep(&pause, NULL);
	}
	atomic_store(&clv_gate.seeking, 0);
	return NULL;
}

void clv_gate_seek_agent(struct clv_view *view)
{
	int saved_errno = errno;

	if (clv_gate_current_view() != view || atomic_load(&clv_gate.seeking) ||
		atomic_exchange(&clv_gate.seeking, 1))
		return;
	if (!clv_helper_spawn(run_seek))
		atomic_store(&clv_gate.seeking, 0);
	errno = saved_errno;
}
