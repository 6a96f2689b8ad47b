/* SPDX-License-Identifier: Apache-2.0 */
/* The channel groups that the driver's library makes for this process: seen in its own
 * ioctls, told to the agent with the file that they were made through, so that it can
 * stop work half-way when a turn ends.  If the agent dies meanwhile the process puts them
 * back itself: without an agent it runs on. */
#include "gate/cuda/channels.h"

#include "base/clock.h"
#include "gate/attach.h"
#include "gate/flight.h"
#include "gate/preload/library.h"
#include "gate/state.h"
#include "rm/channels.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))
#define SEEK_NS (20 * CLV_NS_PER_MS)

typedef int (*ioctl_function)(int fd, unsigned long request, ...);

static struct {
	pthread_mutex_t lock;
	struct clv_rm_channels *channels; /* NULL: there are none yet */
	struct clv_view *told;            /* whose agent knows all of them */
	bool is_guarded;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Telling the agent. */

/* An agent that was not told of one stops nothing. */
static bool tell(
	const struct clv_view *view, const struct clv_rm_object *object, const int *fd)
{
	struct clv_attach_object message = {
		.magic = CLV_ATTACH_MAGIC,
		.client = object->client,
		.parent = object->parent,
		.handle = object->handle,
		.class = object->class,
	};

	return clv_attach_tell(view, &message, sizeof(message), fd);
}

static void tell_all(struct clv_view *view)
{
	const struct clv_rm_object *object;
	bool is_told = true;
	int fd;

	for (size_t i = 0; is_told && (object = clv_rm_channels_at(own.channels, i, &fd));
		i++)
		is_told = tell(view, object, &fd);
	own.told = view;
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
		tell_all(view);
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

static void note(int fd, const struct clv_rm_object *object)
{
	struct clv_view *view = find_view();

	pthread_mutex_lock(&own.lock);
	if (!own.channels)
		own.channels = clv_rm_channels_new(false);
	if (!own.channels || clv_rm_channels_note(own.channels, fd, object) < 0)
		goto done;
	if (!view)
		goto done;
	if (own.told == view)
		tell(view, object, object->class ? &fd : NULL);
	else
		tell_all(view);
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
	own.is_guarded = false;
}
