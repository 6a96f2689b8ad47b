/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "base/proc.h"

struct clv_client_error;

/* An agent that listens and does not answer: whether it is slow, or nobody need wait for
 * it. */
struct clv_silent {
	const char *socket_path; /* borrowed */
	bool may_end;            /* the caller may start another in its place */
	int interrupt_fd;        /* 0: none */
	int pidfd;               /* -1: not looked yet */
	pid_t pid;
	struct clv_proc before;
};

static inline void clv_silent_close(const struct clv_silent *silent)
{
	clv_close_fd(&silent->pidfd);
}
#define _cleanup_silent_ CLV_CLEANUP(clv_silent_close)

/* After each time in which it has not answered.  One that is stopped, or that has slept
 * all the time since the last look, will not: if it was started on demand and may be
 * ended it is, so that there never are two, and this is -ECONNREFUSED, as if there had
 * been none.  0: it may be slow; any other error says what to do about it. */
int clv_silent_look(struct clv_silent *silent, struct clv_client_error *err);
