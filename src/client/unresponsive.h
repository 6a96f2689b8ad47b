/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "base/proc.h"

struct clv_client_error;

/* Checks on an agent that listens but does not answer: whether it is slow, or will never
 * answer. */
struct clv_unresponsive {
	const char *socket_path; /* borrowed */
	bool may_end;            /* the caller may start another in its place */
	int interrupt_fd;        /* 0: none */
	int pidfd;               /* -1: not checked yet */
	pid_t pid;
	struct clv_proc before; /* at the last check */
	/* At the first check: how often its main thread had waited, and its processor
	 * time. */
	uint64_t first_waits, first_ran_ns;
};

static inline void clv_unresponsive_close(const struct clv_unresponsive *silent)
{
	clv_close_fd(&silent->pidfd);
}
#define _cleanup_unresponsive_ CLV_CLEANUP(clv_unresponsive_close)

/* Checks the agent; called after each timeout.  Returns 0 if it may be slow.  An agent
 * that is stopped, or that has slept since the last check, will not answer: if it was
 * started on demand and may be ended it is killed, so that there are never two, and the
 * result is -ECONNREFUSED, as without an agent.  Other errors say in *err what to do. */
int clv_unresponsive_check(struct clv_unresponsive *silent, struct clv_client_error *err);

/* The same after the last timeout, which an agent that is only slow does not need: ends
 * also an agent that has computed since the first check without a pause. */
int clv_unresponsive_check_last(
	struct clv_unresponsive *silent, struct clv_client_error *err);
