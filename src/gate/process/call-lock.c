/* SPDX-License-Identifier: Apache-2.0 */
/* A futex of its own, because a mutex of glibc's waits by the clock that may be set:
 * pthread_mutex_clocklock() is newer than the glibcs that a gate is loaded beside. */
#include "gate/process/call-lock.h"

#include "base/clock.h"
#include "gate/process/hot.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* For how long a thread waits, and in which steps: another thread may give up in between.
 */
#define WAIT_NS (100 * CLV_NS_PER_MS)
#define STEP_NS (10 * CLV_NS_PER_MS)
/* Between two attempts where the kernel (before 5.14) waits by the clock that may be
 * set. */
#define PAUSE_NS (200 * CLV_NS_PER_US)

#ifndef FUTEX_LOCK_PI2 /* by the monotonic clock */
#define FUTEX_LOCK_PI2 13
#endif

static __thread uint32_t own_id __attribute__((tls_model("initial-exec")));

static void forget_id(void)
{
	own_id = 0;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(NULL, NULL, forget_id);
}

/* The kernel knows the holder by it. */
static uint32_t thread_id(void)
{
	if (CLV_UNLIKELY(own_id == 0))
		own_id = (uint32_t)syscall(SYS_gettid);
	return own_id;
}

void clv_call_lock_init(struct clv_call_lock *lock)
{
	atomic_store(&lock->word, 0);
	lock->depth = 0;
	atomic_store(&lock->holder, 1);
	atomic_store(&lock->waived, 0);
}

static bool try_lock(struct clv_call_lock *lock)
{
	uint32_t none = 0;

	return (atomic_load(&lock->word) & FUTEX_TID_MASK) == thread_id() ||
	       atomic_compare_exchange_strong(&lock->word, &none, thread_id());
}

static bool lock_until(struct clv_call_lock *lock, uint64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / CLV_NS_PER_S),
		.tv_nsec = (long)(until_ns % CLV_NS_PER_S)};
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	if (syscall(SYS_futex, &lock->word, FUTEX_LOCK_PI2 | FUTEX_PRIVATE_FLAG, 0,
		    &until, NULL, 0) == 0)
		return true;
	if (errno != ETIMEDOUT && errno != EINTR && errno != EAGAIN)
		nanosleep(&pause, NULL);
	return try_lock(lock);
}

static bool is_waived(struct clv_call_lock *lock, uint32_t *ret_holder)
{
	*ret_holder = atomic_load(&lock->holder);
	return *ret_holder == atomic_load(&lock->waived);
}

/* The holder may unlock just as a thread gives up: then the number is no longer that of
 * the next holder, for whom all wait again. */
static bool wait_or_waive(struct clv_call_lock *lock)
{
	uint64_t since_ns, now_ns;
	uint32_t holder;

	if (is_waived(lock, &holder))
		return false;
	since_ns = now_ns = clv_clock_ns();
	do {
		if (is_waived(lock, &holder))
			return false;
		if (lock_until(lock, now_ns + STEP_NS))
			return true;
		now_ns = clv_clock_ns();
	} while (now_ns - since_ns < WAIT_NS);
	atomic_store(&lock->waived, holder);
	return false;
}

bool clv_call_lock(struct clv_call_lock *lock)
{
	int error = errno;
	bool is_locked = try_lock(lock) || wait_or_waive(lock);

	errno = error;
	/* What the last holder did came before its change of the number, also where the
	 * kernel has handed the lock on. */
	if (is_locked && atomic_load(&lock->holder) > 0)
		lock->depth++;
	return is_locked;
}

void clv_call_unlock(struct clv_call_lock *lock)
{
	uint32_t own = thread_id();
	int error = errno;

	if (--lock->depth > 0)
		return;
	atomic_fetch_add(&lock->holder, 1);
	/* Where others wait the kernel hands the lock on. */
	if (!atomic_compare_exchange_strong(&lock->word, &own, 0))
		syscall(SYS_futex, &lock->word, FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG, 0,
			NULL, NULL, 0);
	errno = error;
}
