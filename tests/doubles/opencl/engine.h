/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

#define DCL_MAX_DEVICES 16

/* One device of the platform and the thread that runs its commands, one at a time.  The
 * members from `started` on are under the scheduler's lock. */
struct dcl_engine {
	unsigned index;
	struct dcl_ledger *ledger;
	_Atomic uint64_t busy_ns;
	_Atomic(pthread_t) thread; /* 0 until it runs */
	bool started;
	pthread_cond_t wake;
	struct dcl_cmd *ready, *ready_tail;
};

extern struct dcl_engine dcl_engines[DCL_MAX_DEVICES];

void dcl_engines_init(void);

/* Starts the thread if it does not run yet.  The scheduler's lock is held. */
void dcl_engine_start(struct dcl_engine *engine);

/* A detached thread of the runtime, with every signal blocked. */
void dcl_thread_start(void *(*main)(void *), void *arg);

/* True on a device's thread: users' callbacks are posted there, not called, because the
 * device would wait for itself. */
bool dcl_engine_is_this_thread(void);
