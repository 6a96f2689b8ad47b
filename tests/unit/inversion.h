/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/clock.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

/* Three threads on one processor: one of the lowest priority that computes with a lock,
 * one of the highest that wants the lock, and one between them that leaves them no
 * processor until the highest has it. */

static struct {
	sem_t low_has_lock, middle_runs;
	_Atomic int is_through, has_given_up;
	void (*low)(void), (*high)(void);
} inversion;

static uint64_t inversion_processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * CLV_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Called by the lowest once it has the lock. */
static void inversion_compute(void)
{
	uint64_t since_ns = inversion_processor_ns();

	sem_post(&inversion.low_has_lock);
	while (inversion_processor_ns() - since_ns < 20 * CLV_NS_PER_MS)
		;
}

static void *inversion_low(void *userdata)
{
	inversion.low();
	return NULL;
}

static void *inversion_middle(void *userdata)
{
	uint64_t since_ns;

	sem_wait(&inversion.low_has_lock);
	sem_post(&inversion.middle_runs);
	since_ns = inversion_processor_ns();
	while (!atomic_load(&inversion.is_through) &&
		!atomic_load(&inversion.has_given_up))
		atomic_store(&inversion.has_given_up,
			inversion_processor_ns() - since_ns > 500 * CLV_NS_PER_MS);
	return NULL;
}

static void *inversion_high(void *userdata)
{
	sem_wait(&inversion.middle_runs);
	inversion.high();
	atomic_store(&inversion.is_through, !atomic_load(&inversion.has_given_up));
	return NULL;
}

/* All on one processor.  False: that needs a privilege. */
static bool inversion_start(pthread_t *ret, int priority, void *(*run)(void *userdata))
{
	const struct sched_param parameters = {.sched_priority = priority};
	pthread_attr_t attributes;
	cpu_set_t processors;
	int r;

	CPU_ZERO(&processors);
	CPU_SET(sched_getcpu(), &processors);
	pthread_attr_init(&attributes);
	pthread_attr_setaffinity_np(&attributes, sizeof(processors), &processors);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, priority ? SCHED_FIFO : SCHED_OTHER);
	pthread_attr_setschedparam(&attributes, &parameters);
	r = pthread_create(ret, &attributes, run, NULL);
	pthread_attr_destroy(&attributes);
	return r == 0;
}

/* low() calls inversion_compute() with the lock, which high() takes. */
static void inversion_test(void (*low)(void), void (*high)(void))
{
	pthread_t threads[3];
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	sem_init(&inversion.low_has_lock, 0, 0);
	sem_init(&inversion.middle_runs, 0, 0);
	inversion.low = low;
	inversion.high = high;
	atomic_store(&inversion.is_through, 0);
	atomic_store(&inversion.has_given_up, 0);
	if (!inversion_start(&threads[0], 2, inversion_high))
		skip();
	assert_true(inversion_start(&threads[1], 1, inversion_middle));
	assert_true(inversion_start(&threads[2], 0, inversion_low));
	for (size_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_true(atomic_load(&inversion.is_through));
}
