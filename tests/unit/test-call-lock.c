/* SPDX-License-Identifier: Apache-2.0 */
/* The lock that a thread keeps in a call of the driver: waits for it end, whatever is
 * done to the wall clock, and once one was in vain none follows. */
#include "gate/process/call-lock.h"

#include "base/clock.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#define HANG_SECONDS 60 /* of one that waits for the wall clock */
#define N_THREADS 4
#define N_ROUNDS 20000

static struct clv_call_lock lock;
static sem_t is_locked, may_unlock;
static clv_vdso_clock_fn read_clock;
static _Atomic int n_reads, set_back_s;

/* As if the wall clock was set back as soon as it had been read. */
static int read_before_set(clockid_t clock, struct timespec *ret)
{
	int r = read_clock(clock, ret);

	atomic_fetch_add(&n_reads, 1);
	if (clock == CLOCK_REALTIME)
		ret->tv_sec += atomic_load(&set_back_s);
	return r;
}

static void *keep_lock(void *userdata)
{
	(void)userdata;
	clv_call_lock(&lock);
	sem_post(&is_locked);
	sem_wait(&may_unlock);
	clv_call_unlock(&lock);
	return NULL;
}

static int begin(void **state)
{
	(void)state;
	clv_call_lock_init(&lock);
	sem_init(&is_locked, 0, 0);
	sem_init(&may_unlock, 0, 0);
	atomic_store(&set_back_s, 0);
	alarm(HANG_SECONDS);
	return 0;
}

static pthread_t lock_elsewhere(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, keep_lock, NULL);
	sem_wait(&is_locked);
	return thread;
}

static void unlock_elsewhere(pthread_t thread)
{
	sem_post(&may_unlock);
	pthread_join(thread, NULL);
}

static void is_recursive(void **state)
{
	pthread_t thread;

	(void)state;
	assert_true(clv_call_lock(&lock));
	assert_true(clv_call_lock(&lock));
	clv_call_unlock(&lock);
	clv_call_unlock(&lock);
	thread = lock_elsewhere();
	unlock_elsewhere(thread);
}

static void a_wait_ends_when_the_clock_is_set(void **state)
{
	pthread_t thread = lock_elsewhere();

	(void)state;
	atomic_store(&set_back_s, 3600);
	assert_false(clv_call_lock(&lock));
	unlock_elsewhere(thread);
	assert_true(clv_call_lock(&lock));
	clv_call_unlock(&lock);
}

/* A wait reads a clock. */
static void none_follows_a_wait_in_vain(void **state)
{
	pthread_t thread = lock_elsewhere();

	(void)state;
	assert_false(clv_call_lock(&lock));
	atomic_store(&n_reads, 0);
	assert_false(clv_call_lock(&lock));
	assert_in_range(n_reads, 0, 1);
	unlock_elsewhere(thread);
}

static uint64_t sum;

static void *add(void *userdata)
{
	uint64_t *n_without = userdata;

	for (int i = 0; i < N_ROUNDS; i++) {
		if (clv_call_lock(&lock)) {
			sum++;
			clv_call_unlock(&lock);
		} else {
			++*n_without;
		}
	}
	return NULL;
}

static void one_thread_has_it(void **state)
{
	pthread_t threads[N_THREADS];
	uint64_t n_without[N_THREADS] = {0}, n = 0;

	(void)state;
	for (int i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], NULL, add, &n_without[i]);
	for (int i = 0; i < N_THREADS; i++) {
		pthread_join(threads[i], NULL);
		n += n_without[i];
	}
	assert_int_equal(sum + n, N_THREADS * N_ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(is_recursive, begin),
		cmocka_unit_test_setup(a_wait_ends_when_the_clock_is_set, begin),
		cmocka_unit_test_setup(none_follows_a_wait_in_vain, begin),
		cmocka_unit_test_setup(one_thread_has_it, begin),
	};

	clv_clock_ns(); /* finds the function */
	read_clock = atomic_load(&clv_clock_read);
	atomic_store(&clv_clock_read, read_before_set);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
