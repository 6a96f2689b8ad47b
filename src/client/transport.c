/* SPDX-License-Identifier: Apache-2.0 */
/* Sends a request and waits for its answer, until a deadline or until the caller is
 * interrupted.  Each request has a connection of its own. */
#include "client/transport.h"

#include "base/clock.h"
#include "client/error.h"
#include "client/exchange.h"

#include <cleave.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define BACKLOG_RETRY_MS 5

struct clv_transport {
	int interrupt_fd;
	struct sockaddr_un address;
};

struct clv_transport *clv_transport_free(struct clv_transport *t)
{
	free(t);
	return NULL;
}

int clv_transport_new(const char *socket_path, int interrupt_fd,
	struct clv_transport **ret, struct clv_client_error *err)
{
	struct clv_transport *t = calloc(1, sizeof(*t));

	if (!t)
		return clv_client_fail(err, -ENOMEM, "internal", "out of memory");
	if (strlen(socket_path) >= sizeof(t->address.sun_path)) {
		free(t);
		return clv_client_fail(err, -ENAMETOOLONG, "bad_request",
			"the socket path %.60s... is over %zu bytes: use a shorter "
			"folder",
			socket_path, sizeof(t->address.sun_path) - 1);
	}

	t->address.sun_family = AF_UNIX;
	strcpy(t->address.sun_path, socket_path);
	t->interrupt_fd = interrupt_fd;
	*ret = t;
	return 0;
}

/* Waits for events of fd (-1: none) for at most max_ms.  Returns 0, also after max_ms,
 * -ETIMEDOUT after the deadline, or -EINTR once the caller's descriptor is readable. */
static int wait_for(const struct clv_transport *t, uint64_t deadline_ns, int fd,
	short events, int max_ms)
{
	struct pollfd fds[] = {
		{.fd = fd, .events = events},
		{.fd = t->interrupt_fd > 0 ? t->interrupt_fd : -1, .events = POLLIN},
	};
	uint64_t now_ns = clv_clock_ns(), left_ms;

	if (now_ns >= deadline_ns)
		return -ETIMEDOUT;
	left_ms = (deadline_ns - now_ns) / CLV_NS_PER_MS + 1;
	if (left_ms < (uint64_t)max_ms)
		max_ms = (int)left_ms;
	/* A signal without a handler that ends the process is no reason to stop. */
	if (poll(fds, 2, max_ms) < 0)
		return errno == EINTR ? 0 : -errno;
	return fds[1].revents ? -EINTR : 0;
}

static int exchange(struct clv_transport *t, struct clv_exchange *x, uint64_t deadline_ns,
	struct clv_response *ret)
{
	for (;;) {
		int r = clv_exchange_step(x, &t->address, ret);

		/* Nothing can be polled while the queue of the agent's socket is full. */
		if (r == -EAGAIN)
			r = wait_for(t, deadline_ns, -1, 0, BACKLOG_RETRY_MS);
		else if (r == -EINPROGRESS)
			r = wait_for(
				t, deadline_ns, x->fd, clv_exchange_events(x), INT_MAX);
		else
			return r;
		if (r < 0)
			return r;
	}
}

int clv_transport_fail(const char *path, int error, struct clv_client_error *err)
{
	switch (error) {
	case -EINTR:
		return clv_client_fail(err, error, "interrupted", "interrupted");
	case -ENOMEM:
		return clv_client_fail(err, error, "internal", "out of memory");
	case -ETIMEDOUT:
		return clv_client_fail(err, error, "unreachable",
			"the agent on %s does not answer: see its log, or restart it",
			path);
	case -EMSGSIZE:
		return clv_client_fail(err, error, "bad_reply",
			"the answer of the agent on %s is too large", path);
	case -EBADMSG:
		return clv_client_fail(err, error, "bad_reply",
			"the answer on %s is not HTTP: is this socket an agent's?", path);
	case -ECONNREFUSED:
		break;
	default:
		error = -ECONNRESET;
	}
	return clv_client_fail(err, error, "unreachable",
		"the agent on %s cannot be reached (%s): start it with cleaved, or let "
		"cleave run start one",
		path,
		error == -ECONNRESET ? "it closed the connection"
				     : "nothing accepts connections");
}

int clv_transport_request(struct clv_transport *t, const struct clv_request *request,
	struct clv_response *ret, struct clv_client_error *err)
{
	uint64_t deadline_ns = clv_clock_ns() + request->timeout_ms * CLV_NS_PER_MS;
	struct clv_exchange x = {.fd = -1};
	int r = clv_exchange_set(&x, request);

	if (r == 0)
		r = exchange(t, &x, deadline_ns, ret);
	clv_exchange_done(&x);
	return r < 0 ? clv_transport_fail(t->address.sun_path, r, err) : 0;
}
