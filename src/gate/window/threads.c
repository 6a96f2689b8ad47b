/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the helper and the turnstile, and reports once if that fails. */
#include "gate/window/threads.h"

#include "base/error.h"
#include "gate/attach/attach.h"
#include "gate/attach/attachment.h"
#include "gate/process/state.h"
#include "gate/process/thread.h"
#include "gate/window/turnstile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void report_failure(int error)
{
	static atomic_flag is_reported = ATOMIC_FLAG_INIT;
	char why[128];

	if (atomic_flag_test_and_set(&is_reported))
		return;
	snprintf(why, sizeof(why), "the gate cannot create its threads: %s",
		strerror(error));
	clv_attach_report_refused(why,
		"create a context before the program forbids threads, or "
		"raise the limit of processes (ulimit -u, pids.max)");
}

bool clv_gate_helper_is_ready(void)
{
	int saved_errno = errno;
	bool is_running;

	if (atomic_load_explicit(&clv_gate.helper_started, memory_order_relaxed) ||
		!clv_gate_current_view())
		return true;
	is_running = clv_helper_start();
	if (!is_running)
		report_failure(errno);
	errno = saved_errno;
	return is_running;
}

bool clv_gate_threads_start(void)
{
	int saved_errno = errno;
	bool are_running;

	if (atomic_load_explicit(&clv_gate.helper_started, memory_order_relaxed) &&
		atomic_load_explicit(&clv_gate.turnstile_started, memory_order_relaxed))
		return true;
	are_running = clv_helper_start() && clv_turnstile_start();
	if (!are_running)
		report_failure(errno);
	errno = saved_errno;
	return are_running;
}
