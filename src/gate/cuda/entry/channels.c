/* SPDX-License-Identifier: Apache-2.0 */
/* The channel groups that the driver's library makes for this process: seen in its own
 * ioctls, told to the agent with the file that they were made through, so that it can
 * stop work half-way when a turn ends.  An agent that does not read is told later; how
 * much there is to be told stands in the report page, and who knows less stops nothing.
 * If the agent dies meanwhile the process puts them back itself: without an agent it runs
 * on. */
#include "gate/cuda/entry/channels.h"

#include "base/clock.h"
#include "gate/attach/attach.h"
#include "gate/attach/attachment.h"
#include "gate/preload/libc.h"
#include "gate/process/hot.h"
#include "gate/process/thread.h"
#include "gate/process/view.h"
#include "rm/channels.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))
#define SEEK_NS (20 * CLV_NS_PER_MS)
#define RETRY_NS (5 * CLV_NS_PER_MS)
#define ROOM_MS 100

typedef int (*ioctl_function)(int fd, unsigned long request, ...);

static struct {
	pthread_mutex_t lock;
	struct clv_rm_channels *channels; /* NULL: there are none yet */
	struct clv_view *told;            /* whose agent is told of them */
	uint64_t told_as_of;              /* the last that it was told */
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

/* Behind the last there may be nothing left to send: it was freed again. */
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

/* What it does not know yet; of a further agent that is all.  Returns whether it knows
 * all then that this process does. */
static bool tell_rest(struct clv_view *view)
{
	bool is_whole = clv_rm_channels_are_whole(own.channels), is_last;
	uint64_t as_of = clv_rm_channels_n_changes(own.channels);
	struct clv_rm_object object;
	int fd;

	if (own.told != view) {
		clv_rm_channels_untell(own.channels);
		own.told_as_of = 0;
	}
	own.told = view;
	atomic_store(&view->turn->n_changes, is_whole ? as_of : UINT64_MAX);
	while (clv_rm_channels_next_untold(own.channels, &object, &fd, &is_last)) {
		is_last &= is_whole;
		if (!tell(view, &object, is_last ? as_of : 0, fd >= 0 ? &fd : NULL))
			return false;
		clv_rm_channels_note_told(own.channels);
		if (is_last)
			own.told_as_of = as_of;
	}
	return !is_whole || tell_as_of(view, as_of);
}

/* NULL: nothing is left to be told, or nobody to tell it; the guard tells the next. */
static struct clv_view *try_again(void)
{
	struct clv_view *view;

	pthread_mutex_lock(&own.lock);
	view = clv_gate_peek();
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

/* With the lock held.  The program is not held up, nor is the helper, which may be
 * waiting for work. */
static void tell_soon(struct clv_view *view)
{
	if (!tell_rest(view) && !own.is_telling)
		own.is_telling = clv_helper_spawn(tell_later);
}

/* The guard. */

static void wait_for_end(const struct clv_view *view)
{
	struct pollfd end = {.fd = view->socket_fd, .events = POLLRDHUP};

	while (clv_attach_is_intact(view) && poll(&end, 1, -1) < 0 && errno == EINTR)
		;
}

static struct clv_view *wait_for_next(const struct clv_view *view)
{
	struct timespec pause = {.tv_nsec = SEEK_NS};
	struct clv_view *next;

	while (!(next = clv_gate_peek()) || next == view) {
		if (next)
			clv_gate_seek_agent(next);
		nanosleep(&pause, NULL);
	}
	return next;
}

/* Which way they were stopped is not known here. */
static void go_on(void)
{
	pthread_mutex_lock(&own.lock);
	clv_rm_channels_put_back(own.channels);
	pthread_mutex_unlock(&own.lock);
}

/* A thread of its own: the helper and the program's may be waiting for work that was
 * stopped. */
static void *guard(void *userdata)
{
	struct clv_view *view = userdata;

	for (;;) {
		wait_for_end(view);
		go_on();
		view = wait_for_next(view);
		pthread_mutex_lock(&own.lock);
		tell_soon(view);
		pthread_mutex_unlock(&own.lock);
	}
	return NULL;
}

/* clv_helper_spawn takes no argument: the view is there when it is called. */
static void *begin_guard(void *userdata)
{
	(void)userdata;
	return guard(clv_gate_peek());
}

/* What was made or freed. */

static struct clv_view *find_view(void)
{
	return clv_forkless ? clv_gate_peek() : NULL;
}

/* Most of what a driver frees is nothing of these.  Returns whether this is. */
static bool take_in(int fd, const struct clv_rm_object *object)
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
	if (!own.channels || !take_in(fd, object) || !view)
		goto done;
	tell_soon(view);
	if (!own.is_guarded && clv_rm_channels_has_groups(own.channels))
		own.is_guarded = clv_helper_spawn(begin_guard);
done:
	pthread_mutex_unlock(&own.lock);
}

static ioctl_function find_next(void)
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
	r = find_next()(fd, request, argument);
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
