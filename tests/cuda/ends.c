/* SPDX-License-Identifier: Apache-2.0 */
/* Threads whose own destructors, which run after the gate's, use their default stream. */
#include "pattern.h"

#include <pthread.h>

static pthread_key_t own_key;
static pthread_once_t own_key_once = PTHREAD_ONCE_INIT;

static void store_at_the_end(void *userdata)
{
	run(PER_THREAD, 100000);
	store(PER_THREAD, word(1), (uint32_t)(uintptr_t)userdata);
	OK(cuStreamSynchronize(PER_THREAD));
}

static void make_own_key(void)
{
	pthread_key_create(&own_key, store_at_the_end);
}

static void *end_with_work(void *userdata)
{
	OK(cuCtxSetCurrent(context));
	run(PER_THREAD, 100000);
	pthread_once(&own_key_once, make_own_key);
	pthread_setspecific(own_key, userdata);
	return NULL;
}

uint32_t thread_ends(void)
{
	for (uintptr_t i = 1; i <= N_ROUNDS; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, end_with_work, (void *)i);
		pthread_join(thread, NULL);
	}
	return words[1];
}
