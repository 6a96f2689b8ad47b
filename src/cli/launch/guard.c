/* SPDX-License-Identifier: Apache-2.0 */
/* Watches a user's own agent while a program runs in one of its leases, and starts a new
 * agent when that one has died, is stopped or hangs. */
#include "cli/launch/guard.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/paths.h"
#include "base/proc.h"
#include "cli/frame/cli.h"
#include "client/start.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* The process that listens on the socket; 0: it cannot be determined, -1: there is none.
 */
static pid_t find_agent(const char *socket_path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred peer = {0};
	socklen_t n_bytes = sizeof(peer);

	if (fd < 0 || strlen(socket_path) >= sizeof(address.sun_path))
		return 0;
	strcpy(address.sun_path, socket_path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return errno == EAGAIN ? 0 : -1; /* the backlog is full */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n_bytes) < 0)
		return 0;
	return peer.pid;
}

/* An agent that hangs may take no more calls: then it is still the one before. */
static void watch_agent(struct clv_guard *guard)
{
	pid_t agent = find_agent(guard->socket_path);

	if (agent == 0 && guard->pidfd >= 0) {
		guard->n_idle = 0;
		guard->starter = 0;
		return;
	}
	clv_close_fd(&guard->pidfd);
	guard->is_needed = agent != 0;
	guard->agent = agent;
	guard->pidfd = agent > 0 ? (int)syscall(SYS_pidfd_open, agent, 0) : -1;
	guard->n_idle = 0;
	if (guard->starter != 0 && agent > 0)
		guard->outsider = agent;
	guard->starter = 0;
}

static bool is_own_agent(const char *socket_path)
{
	char folder[CLV_PATH_MAX];
	struct clv_error err;

	return clv_path_user_runtime(false, folder, sizeof(folder), &err) >= 0 &&
	       strncmp(socket_path, folder, strlen(folder)) == 0 &&
	       socket_path[strlen(folder)] == '/';
}

void clv_guard_begin(
	struct clv_guard *guard, const struct clv_common *common, const char *socket_path)
{
	*guard = (struct clv_guard){
		.common = common, .socket_path = socket_path, .pidfd = -1};
	if (socket_path && is_own_agent(socket_path))
		watch_agent(guard);
}

void clv_guard_end(struct clv_guard *guard)
{
	clv_close_fd(&guard->pidfd);
}

/* Starts an agent from a child process, since the start may take long and the caller must
 * forward signals meanwhile.  If another process has just started an agent, the child
 * finds that one. */
static void start_agent(struct clv_guard *guard)
{
	struct clv_client_options options = clv_cli_options(guard->common, true);
	_cleanup_client_ struct clv_client *client = NULL;

	guard->starter = fork();
	if (guard->starter != 0)
		return;
	_exit(clv_client_new(&options, &client, NULL) < 0);
}

static bool is_gone(const struct clv_guard *guard)
{
	struct pollfd agent = {.fd = guard->pidfd, .events = POLLIN};

	return poll(&agent, 1, 0) > 0;
}

/* Whether the agent has done nothing since the last check.  It waits for its next tick
 * once a second, so one that hangs, asleep or in a loop, has not waited for anything
 * new. */
static bool is_idle(struct clv_guard *guard, const struct clv_proc *proc)
{
	uint64_t before = guard->n_waits;

	guard->n_waits = proc->n_waits;
	return proc->state == 'T' || (proc->state != 't' && proc->n_waits == before);
}

/* Whether an agent that was started on demand seems to be stopped or to hang, at two
 * checks in a row; a single check could meet a session that is stopped and continued as a
 * whole.  The starter calls the agent, and kills it if it will not answer
 * (client/unresponsive.h). */
static bool is_suspect(struct clv_guard *guard)
{
	struct clv_proc proc;

	if (!clv_proc_read(guard->agent, &proc) || !is_idle(guard, &proc) ||
		!clv_proc_has_argument(guard->agent, CLV_START_ON_DEMAND))
		guard->n_idle = 0;
	else
		guard->n_idle++;
	return guard->n_idle >= 2;
}

void clv_guard_check(struct clv_guard *guard)
{
	/* The supervisor reaps the starter with the other children. */
	if (!guard->is_needed || (guard->starter > 0 && kill(guard->starter, 0) == 0))
		return;
	if (guard->starter != 0)
		watch_agent(guard);
	if (guard->pidfd >= 0 && is_gone(guard)) {
		close(guard->pidfd);
		guard->pidfd = -1;
		guard->outsider = 0;
	}
	if (guard->is_needed && (guard->pidfd < 0 || is_suspect(guard)))
		start_agent(guard);
}
