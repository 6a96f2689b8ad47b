/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>

/* Initializes a mutex of a pthread type whose holder inherits the priority of the threads
 * that wait for it: a thread of a real-time class does not wait for all that have a
 * higher priority than the holder.  An ordinary mutex where the kernel has none such. */
static inline void clv_lock_init(pthread_mutex_t *lock, int type)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	if (pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) != 0 ||
		pthread_mutex_init(lock, &attributes) != 0) {
		pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_NONE);
		pthread_mutex_init(lock, &attributes);
	}
	pthread_mutexattr_destroy(&attributes);
}
