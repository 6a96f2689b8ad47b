/* SPDX-License-Identifier: Apache-2.0 */
/* The records of contexts' error callbacks, found by the context's handle. */
#include "gate/opencl/dispatch/context-notify.h"

#include "gate/process/state.h"

#include <pthread.h>
#include <stdlib.h>

struct clv_context_notify {
	struct clv_context_notify *next;
	cl_context context;
	clv_context_function function;
	void *userdata;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct clv_context_notify *first;

struct clv_context_notify *clv_context_notify_new(
	clv_context_function function, void *userdata)
{
	struct clv_context_notify *notify = calloc(1, sizeof(*notify));

	if (notify) {
		notify->function = function;
		notify->userdata = userdata;
	}
	return notify;
}

void CL_CALLBACK clv_context_notify_run(
	const char *what, const void *more, size_t n_more, void *userdata)
{
	const struct clv_context_notify *notify = userdata;

	clv_gate_callback_begin();
	notify->function(what, more, n_more, notify->userdata);
	clv_gate_callback_end();
}

/* Takes out the record of the context that had the handle before.  With the lock held. */
static struct clv_context_notify *take(cl_context context)
{
	struct clv_context_notify **link = &first, *found;

	while (*link && (*link)->context != context)
		link = &(*link)->next;
	found = *link;
	if (found)
		*link = found->next;
	return found;
}

void clv_context_notify_tie(struct clv_context_notify *notify, cl_context context)
{
	struct clv_context_notify *before = notify;

	if (context) {
		pthread_mutex_lock(&lock);
		before = take(context);
		notify->context = context;
		notify->next = first;
		first = notify;
		pthread_mutex_unlock(&lock);
	}
	free(before);
}

void clv_context_notify_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
}
