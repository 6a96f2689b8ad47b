/* SPDX-License-Identifier: Apache-2.0 */
/* Sends one HTTP request over a Unix socket, and reads the answer.  Each request has a
 * connection of its own.  An HTTP library is not used: libcurl, the only one in all
 * distributions that speaks over Unix sockets, loads 30 libraries for other protocols,
 * which took nine tenths of the time of `cleave` (docs/architecture/cli.md). */
#include "client/transport.h"

#include "base/clock.h"
#include "client/error.h"
#include "client/http-head.h"
#include "client/url.h"

#include <cleave.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define RESPONSE_MAX_BYTES (64u << 20)
#define FIRST_ROOM_BYTES 8192u
#define BACKLOG_RETRY_MS 5

struct clv_transport {
	int interrupt_fd;
	struct sockaddr_un address;
};

/* One request that is under way. */
struct exchange {
	struct clv_transport *transport;
	int fd;
	uint64_t deadline_ns;
	char *bytes; /* received */
	size_t n_bytes, room_bytes;
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
static int wait_for(const struct exchange *x, int fd, short events, int max_ms)
{
	struct pollfd fds[] = {
		{.fd = fd, .events = events},
		{.fd = x->transport->interrupt_fd > 0 ? x->transport->interrupt_fd : -1,
			.events = POLLIN},
	};
	uint64_t now_ns = clv_clock_ns(), left_ms;

	if (now_ns >= x->deadline_ns)
		return -ETIMEDOUT;
	left_ms = (x->deadline_ns - now_ns) / CLV_NS_PER_MS + 1;
	if (left_ms < (uint64_t)max_ms)
		max_ms = (int)left_ms;
	/* A signal without a handler that ends the process is no reason to stop. */
	if (poll(fds, 2, max_ms) < 0)
		return errno == EINTR ? 0 : -errno;
	return fds[1].revents ? -EINTR : 0;
}

static int connect_to_agent(struct exchange *x)
{
	const struct sockaddr *address = (const struct sockaddr *)&x->transport->address;
	int r;

	x->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (x->fd < 0)
		return -errno;
	while (connect(x->fd, address, sizeof(x->transport->address)) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		/* Nothing can be polled while the queue of the agent's socket is full. */
		r = wait_for(x, -1, 0, BACKLOG_RETRY_MS);
		if (r < 0)
			return r;
	}
	return 0;
}

/* An agent that refuses a request may answer before it has read all of it; the answer is
 * read after any failure. */
static int send_bytes(struct exchange *x, const char *bytes, size_t n_bytes)
{
	while (n_bytes > 0) {
		ssize_t n = send(x->fd, bytes, n_bytes, MSG_NOSIGNAL);
		int r;

		if (n >= 0) {
			bytes += n;
			n_bytes -= (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return 0;
		r = wait_for(x, x->fd, POLLOUT, INT_MAX);
		if (r < 0)
			return r;
	}
	return 0;
}

static int grow(struct exchange *x)
{
	size_t room = x->room_bytes ? 2 * x->room_bytes : FIRST_ROOM_BYTES;
	char *grown = room <= 2 * RESPONSE_MAX_BYTES ? realloc(x->bytes, room) : NULL;

	if (!grown)
		return -ENOMEM;

	x->bytes = grown;
	x->room_bytes = room;
	return 0;
}

/* Receives once.  Returns 1, 0 at the end of the connection, or -errno. */
static int receive(struct exchange *x)
{
	ssize_t n;
	int r;

	/* A byte is left for the NUL after the body. */
	if (x->n_bytes + 1 >= x->room_bytes) {
		r = grow(x);
		if (r < 0)
			return r;
	}
	for (;;) {
		n = recv(x->fd, x->bytes + x->n_bytes, x->room_bytes - x->n_bytes - 1, 0);
		if (n >= 0)
			break;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		r = wait_for(x, x->fd, POLLIN, INT_MAX);
		if (r < 0)
			return r;
	}
	x->n_bytes += (size_t)n;
	return n > 0;
}

static int receive_answer(struct exchange *x, struct clv_response *ret)
{
	struct clv_http_head head;
	int r, is_known = 0;

	for (;;) {
		if (!is_known && x->n_bytes > 0)
			is_known = clv_http_head_read(x->bytes, x->n_bytes, &head);
		if (is_known < 0)
			return is_known;
		if (is_known && head.body_bytes > RESPONSE_MAX_BYTES)
			return -EMSGSIZE;
		if (is_known && x->n_bytes - head.n_bytes >= head.body_bytes)
			break;
		r = receive(x);
		if (r < 0)
			return r;
		if (r == 0)
			return -ECONNRESET;
	}

	ret->status = head.status;
	ret->n_bytes = head.body_bytes;
	memmove(x->bytes, x->bytes + head.n_bytes, head.body_bytes);
	x->bytes[head.body_bytes] = '\0';
	ret->body = CLV_TAKE(x->bytes);
	return 0;
}

static int exchange(struct exchange *x, const struct clv_request *request,
	const char *head, struct clv_response *ret)
{
	int r = connect_to_agent(x);

	/* Callers tell by this error that the request was never sent. */
	if (r < 0)
		return r == -EINTR || r == -ETIMEDOUT ? r : -ECONNREFUSED;
	r = send_bytes(x, head, strlen(head));
	if (r == 0 && request->body)
		r = send_bytes(x, request->body, request->n_bytes);
	return r < 0 ? r : receive_answer(x, ret);
}

static int fail_exchange(struct clv_transport *t, int error, struct clv_client_error *err)
{
	const char *path = t->address.sun_path;

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

/* Returns the head of the request, which the caller frees, or NULL without memory. */
static char *make_head(const struct clv_request *request)
{
	const char *key = request->idempotency_key;
	char *head;
	int n;

	n = asprintf(&head,
		"%s %s HTTP/1.0\r\n"
		"Host: localhost\r\n"
		"Content-Type: %s\r\n"
		"Content-Length: %zu\r\n"
		"%s%s%s\r\n",
		request->method, request->path, request->content_type,
		request->body ? request->n_bytes : 0, *key ? "Idempotency-Key: " : "",
		key, *key ? "\r\n" : "");
	return n < 0 ? NULL : head;
}

int clv_transport_request(struct clv_transport *t, const struct clv_request *request,
	struct clv_response *ret, struct clv_client_error *err)
{
	struct exchange x = {
		.transport = t,
		.fd = -1,
		.deadline_ns = clv_clock_ns() + request->timeout_ms * CLV_NS_PER_MS,
	};
	_cleanup_free_ char *head = make_head(request);
	int r = head ? exchange(&x, request, head, ret) : -ENOMEM;

	if (x.fd >= 0)
		close(x.fd);
	free(x.bytes);
	return r < 0 ? fail_exchange(t, r, err) : 0;
}
