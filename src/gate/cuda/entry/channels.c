/* SPDX-License-Identifier: Apache-2.0 */
/* The channel groups that the driver's library creates for this process.  The gate sees
 * them in the library's ioctls and tells the agent, with the file by which they were
 * created, so that the agent can stop running work at the end of a turn.  If the agent
 * does not read, the gate tells it later; the report page has the number of changes, and
 * an agent that knows of fewer stops nothing.  If the agent dies or falls silent while
 * channels are stopped, the guard puts them back, because without an agent the process
 * runs on. */
#include "gate/cuda/entry/channels.h"

#include "base/clock.h"
#include "gate/attach/attach.h"
#include "gate/attach/attachment.h"
#include "gate/attach/heartbeat.h"
#include "gate/preload/libc.h"
#include "gate/process/hot.h"
#include "gate/process/thread.h"
#include "gate/process/view.h"
#include "rm/channels.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))
/* The guard's interval.  With what clv_heartbeat_has_ended() needs, channels are back
 * within 100 ms. */
#define LOOK_NS (20 * CLV_NS_PER_MS)
/* Of a process that had no work for so many looks. */
#define N_LOOKS_IDLE 50
#define IDLE_LOOK_NS (40 * CLV_NS_PER_MS)
#define RETRY_NS (5 * CLV_NS_PER_MS)
#define ROOM_MS 100

typedef int (*ioctl_function)(int fd, unsigned long request, ...);

static struct {
	pthread_mutex_t lock;
	struct clv_rm_channels *channels; /* NULL: none were created yet */
	struct clv_view *told;            /* the view whose agent is told */
	uint64_t told_as_of;              /* the number of changes that this agent knows
					   * of */
	bool is_guarded, is_telling;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Telling the agent. */

static bool tell(const struct clv_view *view, const struct clv_rm_object *object,
	uint64_t as_of, const int *fd)
{
	struct clv_attach_object message = {
		.magic = CLV_ATTACH_MAGIC,
		.client = object->client,
		.parent = object->parent,
		.handle = object->handle,
		.class = object->class,
		.as_of = as_of,
	};

	return clv_attach_tell(view, &message, sizeof(message), fd);
}

/* After the last change there may be no object to send, because it was a free: then a
 * message without an object has the number of changes. */
static bool tell_as_of(const struct clv_view *view, uint64_t as_of)
{
	static const struct clv_rm_object nothing;

	if (own.told_as_of == as_of)
		return true;
	if (!tell(view, &nothing, as_of, NULL))
		return false;
	own.told_as_of = as_of;
	return true;
}

/* Tells the agent what it does not know yet; if it is a new one, everything.  True:
 * nothing is left to tell. */
static bool tell_rest(struct clv_view *view)
{
	bool is_complete = clv_rm_channels_are_whole(own.channels), is_last;
	uint64_t as_of = clv_rm_channels_n_changes(own.channels);
	struct clv_rm_object object;
	int fd;

	if (own.told != view) {
		clv_rm_channels_untell(own.channels);
		own.told_as_of = 0;
	}
	own.told = view;
	atomic_store(&view->turn->n_changes, is_complete ? as_of : UINT64_MAX);
	while (clv_rm_channels_next_untold(own.channels, &object, &fd, &is_last)) {
		is_last &= is_complete;
		if (!tell(view, &object, is_last ? as_of : 0, fd >= 0 ? &fd : NULL))
			return false;
		clv_rm_channels_note_told(own.channels);
		if (is_last)
			own.told_as_of = as_of;
	}
	return !is_complete || tell_as_of(view, as_of);
}

/* Returns the view of an agent that must still be told.  NULL: nothing is left to tell,
 * or there is no agent, and the guard tells the next one. */
static struct clv_view *try_again(void)
{
	struct clv_view *view;

	pthread_mutex_lock(&own.lock);
	view = clv_gate_current_view();
	if (!view || clv_gate_agent_is_dead(view) || tell_rest(view)) {
		own.is_telling = false;
		view = NULL;
	}
	pthread_mutex_unlock(&own.lock);
	return view;
}

static void *tell_later(void *userdata)
{
	const struct timespec pause = {.tv_nsec = RETRY_NS};
	const struct clv_view *view;

	(void)userdata;
	while ((view = try_again())) {
		nanosleep(&pause, NULL);
		clv_attach_wait_for_room(view, ROOM_MS);
	}
	return NULL;
}

/* With the lock held.  Neither the program's thread nor the helper, which may be waiting
 * for work, waits for the agent: another thread tries again. */
static void tell_soon(struct clv_view *view)
{
	if (!tell_rest(view) && !own.is_telling)
		own.is_telling = clv_helper_spawn(tell_later);
}

/* The guard thread. */

static void pause_look(uint64_t ns)
{
	const struct timespec pause = {.tv_nsec = (long)ns};

	nanosleep(&pause, NULL);
}

static struct clv_view *wait_for_next(const struct clv_view *view)
{
	struct clv_view *next;

	while (!(next = clv_gate_current_view()) || next == view) {
		if (next)
			clv_gate_seek_agent(next);
		pause_look(LOOK_NS);
	}
	return next;
}

/* Undoes all ways of stopping, because this process does not know which one was used. */
static void put_back(void)
{
	pthread_mutex_lock(&own.lock);
	clv_rm_channels_restore(own.channels);
	pthread_mutex_unlock(&own.lock);
}

/* An agent that continues takes the channels off again if it stopped them, even if it did
 * that after the guard's look and before the guard put them back. */
static bool tell_put_back(const struct clv_view *view)
{
	static const struct clv_rm_object nothing;
	bool is_told;

	pthread_mutex_lock(&own.lock);
	is_told = tell(view, &nothing, 0, NULL);
	pthread_mutex_unlock(&own.lock);
	return is_told;
}

static bool has_work(const struct clv_view *view)
{
	return atomic_load(&view->slot->done) != atomic_load(&view->slot->entered);
}

/* Channels are stopped only outside of the lease's turns, while a heartbeat is due, and
 * only of a process that had work when its turn ended or later. */
static bool may_be_left_off(
	struct clv_heartbeat *heartbeat, struct clv_view *view, bool *had_work)
{
	bool is_closed =
		CLV_PHASE_OF(atomic_load(&view->control->phase)) == CLV_PHASE_CLOSED;

	*had_work = has_work(view) || (is_closed && *had_work);
	return is_closed && *had_work && clv_heartbeat_has_ended(heartbeat, view);
}

/* Returns when the agent is dead or the view replaced.  Uses no descriptor to see that:
 * the program may close those. */
static void watch(struct clv_view *view)
{
	struct clv_heartbeat heartbeat = {0};
	bool is_back = false, is_told = true, had_work = false;
	unsigned n_idle = 0;

	while (clv_gate_current_view() == view && !clv_gate_agent_is_dead(view)) {
		n_idle = has_work(view) ? 0 : n_idle + 1;
		pause_look(n_idle < N_LOOKS_IDLE ? LOOK_NS : IDLE_LOOK_NS);
		if (!may_be_left_off(&heartbeat, view, &had_work)) {
			is_back = false;
		} else if (!is_back) {
			put_back();
			is_back = true;
			is_told = false;
		}
		is_told = is_told || tell_put_back(view);
	}
}

/* The guard is a thread of its own, because the helper and the program's threads may be
 * waiting for work that was stopped. */
static void *guard(void *userdata)
{
	struct clv_view *view = userdata;

	for (;;) {
		watch(view);
		if (clv_gate_agent_is_dead(view))
			put_back();
		view = wait_for_next(view);
		pthread_mutex_lock(&own.lock);
		tell_soon(view);
		pthread_mutex_unlock(&own.lock);
	}
	return NULL;
}

/* clv_helper_spawn passes no argument.  The view exists when the thread starts. */
static void *begin_guard(void *userdata)
{
	(void)userdata;
	return guard(clv_gate_current_view());
}

/* Objects that were created or freed. */

static struct clv_view *find_view(void)
{
	return clv_wiped_on_fork ? clv_gate_current_view() : NULL;
}

/* Records the object.  False: it is none that concerns channels, as most that a driver
 * frees. */
static bool record_object(int fd, const struct clv_rm_object *object)
{
	uint64_t n_before = clv_rm_channels_n_changes(own.channels);

	clv_rm_channels_note(own.channels, fd, object);
	return clv_rm_channels_n_changes(own.channels) != n_before;
}

static void note(int fd, const struct clv_rm_object *object)
{
	struct clv_view *view = find_view();

	pthread_mutex_lock(&own.lock);
	if (!own.channels)
		own.channels = clv_rm_channels_new(false);
	if (!own.channels && view)
		atomic_store(&view->turn->n_changes, UINT64_MAX);
	if (!own.channels || !record_object(fd, object) || !view)
		goto done;
	tell_soon(view);
	if (!own.is_guarded && clv_rm_channels_has_groups(own.channels))
		own.is_guarded = clv_helper_spawn(begin_guard);
done:
	pthread_mutex_unlock(&own.lock);
}

static ioctl_function find_ioctl(void)
{
	static _Atomic(ioctl_function) next;
	ioctl_function function = atomic_load_explicit(&next, memory_order_relaxed);

	if (!function) {
		function = (ioctl_function)(uintptr_t)clv_real_dlsym(RTLD_NEXT, "ioctl");
		atomic_store_explicit(&next, function, memory_order_relaxed);
	}
	return function;
}

EXPORTED int ioctl(int fd, unsigned long request, ...)
{
	struct clv_rm_object object;
	va_list rest;
	void *argument;
	int r;

	va_start(rest, request);
	argument = va_arg(rest, void *);
	va_end(rest);
	r = find_ioctl()(fd, request, argument);
	if (CLV_UNLIKELY(_IOC_TYPE(request) == 'F') && r == 0 &&
		clv_rm_object_read(request, argument, &object)) {
		int code = errno;

		note(fd, &object);
		errno = code;
	}
	return r;
}

void clv_cuda_channels_forget_parent(void)
{
	pthread_mutex_init(&own.lock, NULL);
	own.channels = clv_rm_channels_free(own.channels);
	own.told = NULL;
	own.told_as_of = 0;
	own.is_guarded = own.is_telling = false;
}
