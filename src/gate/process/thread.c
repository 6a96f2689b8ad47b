/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the gate's own threads, and wakes the helper. */
#include "gate/process/thread.h"

#include "base/futex.h"
#include "gate/process/state.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

bool clv_helper_spawn(void *(*function)(void *))
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attributes, function, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r != 0)
		errno = r;
	return r == 0;
}

bool clv_helper_start(void)
{
	if (atomic_load_explicit(&clv_gate.helper_started, memory_order_relaxed) ||
		atomic_exchange(&clv_gate.helper_started, 1))
		return true;
	if (clv_helper_spawn(clv_gate.api->run_helper))
		return true;
	atomic_store(&clv_gate.helper_started, 0);
	return false;
}

void clv_helper_wake(void)
{
	atomic_fetch_add(&clv_gate.helper_word, 1);
	if (atomic_load(&clv_gate.helper_sleeps))
		clv_futex_wake(&clv_gate.helper_word, 1);
}
