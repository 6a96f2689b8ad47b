/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/window/threads.h"

#include "base/error.h"
#include "gate/attach/attach.h"
#include "gate/process/state.h"
#include "gate/process/thread.h"
#include "gate/window/turnstile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void say(int error)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;
	char why[128];

	if (atomic_flag_test_and_set(&is_said))
		return;
	snprintf(why, sizeof(why), "the gate cannot make its threads: %s",
		strerror(error));
	clv_attach_say(why, "make a context before threads are forbidden, or raise the "
			    "limit of processes (ulimit -u, pids.max)");
}

bool clv_threads_start(void)
{
	int saved_errno = errno;
	bool are_there;

	if (atomic_load_explicit(&clv_gate.helper_started, memory_order_relaxed) &&
		atomic_load_explicit(&clv_gate.turnstile_started, memory_order_relaxed))
		return true;
	are_there = clv_helper_start() && clv_turnstile_start();
	if (!are_there)
		say(errno);
	errno = saved_errno;
	return are_there;
}
