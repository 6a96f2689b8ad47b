/* SPDX-License-Identifier: Apache-2.0 */
#include "callback.h"
#include "engine.h"
#include <stdlib.h>
#include <sys/prctl.h>

/* The callback thread. A callback may call almost any function, which is possible neither
 * inside an API call nor in a device's thread. */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t posted = PTHREAD_COND_INITIALIZER;
static struct dcl_callback *head, *tail;
static bool started;

struct dcl_callback *dcl_callback_new(
	void (*run)(struct dcl_callback *cb), void *object, void *function, void *user)
{
	struct dcl_callback *cb = calloc(1, sizeof(*cb));

	if (!cb)
		return NULL;
	cb->run = run;
	cb->object = object;
	cb->function = function;
	cb->user = user;
	return cb;
}

static void *callback_main(void *arg)
{
	prctl(PR_SET_NAME, "double-callback");
	for (;;) {
		struct dcl_callback *cb;

		pthread_mutex_lock(&lock);
		while (!head)
			pthread_cond_wait(&posted, &lock);
		cb = head;
		head = cb->next;
		if (!head)
			tail = NULL;
		pthread_mutex_unlock(&lock);
		cb->run(cb);
	}
	return arg;
}

void dcl_callback_post(struct dcl_callback *cb)
{
	cb->next = NULL;
	pthread_mutex_lock(&lock);
	if (tail)
		tail->next = cb;
	else
		head = cb;
	tail = cb;
	if (!started) {
		started = true;
		dcl_thread_start(callback_main, NULL);
	}
	pthread_cond_signal(&posted);
	pthread_mutex_unlock(&lock);
}
