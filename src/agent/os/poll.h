/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <poll.h>
#include <signal.h>

/* As poll() for one file, without EINTR: a timer sends signals to the loop
 * (agent/main/loop.c). */
static inline int clv_poll(struct pollfd *file, int timeout_ms)
{
	const struct timespec timeout = {
		.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
	sigset_t all;

	sigfillset(&all);
	return ppoll(file, 1, &timeout, &all);
}
