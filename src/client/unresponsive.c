/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether an agent that does not answer is stopped or hangs, and ends it. */
#include "client/unresponsive.h"

#include "base/clock.h"
#include "base/socket.h"
#include "client/error.h"
#include "client/start.h"

#include <cleave.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define CONNECT_TIMEOUT_MS 1000
#define END_TIMEOUT_MS 2000
/* A loop without an end has this much processor time between the first check and the
 * last, also on a machine that is busy otherwise. */
#define ENDLESS_NS (1 * CLV_NS_PER_S)

/* Finds the process that listens on the socket; false if it is not visible from here. */
static bool find_process(struct clv_unresponsive *silent)
{
	_cleanup_close_ int fd = clv_socket_connect(
		silent->socket_path, SOCK_STREAM, CONNECT_TIMEOUT_MS, NULL);
	struct ucred peer = {0};
	socklen_t n_bytes = sizeof(peer);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n_bytes) < 0 ||
		peer.pid <= 0)
		return false;
	silent->pid = peer.pid;
	silent->pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	/* An agent that a user or a service manager started is not ended here. */
	silent->may_end = silent->may_end && peer.uid == geteuid() &&
			  clv_proc_has_argument(peer.pid, CLV_START_ON_DEMAND);
	return silent->pidfd >= 0;
}

static int fail_kill(const struct clv_unresponsive *silent, const char *what,
	const char *why, struct clv_client_error *err)
{
	return clv_client_fail(err, -EBUSY, "unreachable",
		"the agent on %s (process %d) %s, and cannot be ended: %s",
		silent->socket_path, (int)silent->pid, what, why);
}

/* Kills the agent and waits for its end, which frees its locks for the next agent. */
static int end_process(const struct clv_unresponsive *silent, const char *what,
	struct clv_client_error *err)
{
	struct pollfd fds[] = {{.fd = silent->pidfd, .events = POLLIN},
		{.fd = silent->interrupt_fd > 0 ? silent->interrupt_fd : -1,
			.events = POLLIN}};

	if (syscall(SYS_pidfd_send_signal, silent->pidfd, SIGKILL, NULL, 0) < 0 &&
		errno != ESRCH)
		return fail_kill(silent, what, strerror(errno), err);
	while (poll(fds, CLV_ARRAY_SIZE(fds), END_TIMEOUT_MS) < 0 && errno == EINTR)
		;
	if (fds[0].revents)
		return clv_client_fail(err, -ECONNREFUSED, "unreachable",
			"the agent on %s %s, and was ended", silent->socket_path, what);
	if (fds[1].revents)
		return clv_client_fail(err, -EINTR, "interrupted", "interrupted");
	return fail_kill(silent, what,
		"it waits for a disk or a driver, and ends when that has answered", err);
}

static int fail_stopped(
	const struct clv_unresponsive *silent, struct clv_client_error *err)
{
	return clv_client_fail(err, -ETIMEDOUT, "unreachable",
		"the agent on %s (process %d) is %s: continue it (kill -CONT %d), or "
		"end it (kill -KILL %d) and start it again",
		silent->socket_path, (int)silent->pid,
		silent->before.state == 'T' ? "stopped" : "stopped by a debugger",
		(int)silent->pid, (int)silent->pid);
}

/* Whether the agent slept since the last check although a call waits in its socket: it
 * hangs, unless one of its threads waits for a disk, which will answer. */
static bool has_slept(
	const struct clv_unresponsive *silent, const struct clv_proc *before)
{
	return before->state == 'S' && silent->before.state == 'S' &&
	       before->n_switches == silent->before.n_switches &&
	       !clv_proc_waits_for_disk(silent->pid);
}

int clv_unresponsive_check(struct clv_unresponsive *silent, struct clv_client_error *err)
{
	bool is_first = silent->pidfd < 0;
	struct clv_proc before = silent->before;

	if ((is_first && !find_process(silent)) ||
		!clv_proc_read(silent->pid, &silent->before))
		return 0;
	if (silent->before.state == 'T' && silent->may_end)
		return end_process(silent, "is stopped", err);
	if (silent->before.state == 'T' || silent->before.state == 't')
		return fail_stopped(silent, err);
	if (!is_first && silent->may_end && has_slept(silent, &before))
		return end_process(silent, "hangs", err);
	if (is_first) {
		silent->first_waits = silent->before.n_waits;
		silent->first_ran_ns = clv_proc_ran_ns(silent->pid);
	}
	return 0;
}

/* Whether the agent's main thread is in a loop without an end.  One that serves other
 * calls waits now and then: for the next one, or for its disk. */
static bool is_in_endless_loop(const struct clv_unresponsive *silent)
{
	return silent->before.state == 'R' &&
	       silent->before.n_waits == silent->first_waits &&
	       clv_proc_ran_ns(silent->pid) - silent->first_ran_ns >= ENDLESS_NS;
}

int clv_unresponsive_check_last(
	struct clv_unresponsive *silent, struct clv_client_error *err)
{
	int r;

	if (silent->pidfd < 0)
		return 0;
	r = clv_unresponsive_check(silent, err);
	if (r == 0 && silent->may_end && is_in_endless_loop(silent))
		r = end_process(silent, "hangs", err);
	return r;
}
