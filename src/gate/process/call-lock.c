/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/process/call-lock.h"

#include "base/clock.h"
#include "gate/process/lock.h"

#include <time.h>

/* For how long a thread waits, and in which steps: each ends by a clock that may be
 * set. */
#define WAIT_NS (100 * CLV_NS_PER_MS)
#define STEP_NS (10 * CLV_NS_PER_MS)

void clv_call_lock_init(struct clv_call_lock *lock)
{
	clv_lock_init(&lock->mutex, PTHREAD_MUTEX_RECURSIVE);
	lock->depth = 0;
	atomic_store(&lock->holder, 1);
	atomic_store(&lock->waived, 0);
}

static bool lock_in_a_step(pthread_mutex_t *mutex)
{
	struct timespec until;

	atomic_load_explicit(&clv_clock_read, memory_order_relaxed)(
		CLOCK_REALTIME, &until);
	until.tv_nsec += STEP_NS;
	if (until.tv_nsec >= (long)CLV_NS_PER_S) {
		until.tv_nsec -= CLV_NS_PER_S;
		until.tv_sec++;
	}
	return pthread_mutex_timedlock(mutex, &until) == 0;
}

/* The holder may unlock just as a thread gives up: then the number is no longer that of
 * the next holder, for whom all wait again. */
static bool lock_or_waive(struct clv_call_lock *lock)
{
	uint64_t since_ns;
	uint32_t holder;

	if (pthread_mutex_trylock(&lock->mutex) == 0)
		return true;
	since_ns = clv_clock_ns();
	do {
		holder = atomic_load(&lock->holder);
		if (holder == atomic_load(&lock->waived))
			return false;
		if (lock_in_a_step(&lock->mutex))
			return true;
	} while (clv_clock_ns() - since_ns < WAIT_NS);
	atomic_store(&lock->waived, holder);
	return false;
}

bool clv_call_lock(struct clv_call_lock *lock)
{
	bool is_locked = lock_or_waive(lock);

	if (is_locked)
		lock->depth++;
	return is_locked;
}

void clv_call_unlock(struct clv_call_lock *lock)
{
	if (--lock->depth == 0)
		atomic_fetch_add(&lock->holder, 1);
	pthread_mutex_unlock(&lock->mutex);
}
