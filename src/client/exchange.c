/* SPDX-License-Identifier: Apache-2.0 */
/* Sends one HTTP request over a Unix socket, and reads the answer.  An HTTP library is
 * not used: libcurl, the only one in all distributions that speaks over Unix sockets,
 * loads 30 libraries for other protocols, which took nine tenths of the time of `cleave`
 * (docs/architecture/cli.md). */
#include "client/exchange.h"

#include "base/cleanup.h"
#include "client/http-head.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define RESPONSE_MAX_BYTES (64u << 20)
#define FIRST_ROOM_BYTES 8192u

int clv_exchange_set(struct clv_exchange *x, const struct clv_request *request)
{
	const char *key = request->idempotency_key;
	int n;

	x->body = request->body;
	x->n_body = request->body ? request->n_bytes : 0;
	n = asprintf(&x->head,
		"%s %s HTTP/1.0\r\n"
		"Host: localhost\r\n"
		"Content-Type: %s\r\n"
		"Content-Length: %zu\r\n"
		"%s%s%s\r\n",
		request->method, request->path, request->content_type, x->n_body,
		*key ? "Idempotency-Key: " : "", key, *key ? "\r\n" : "");
	if (n < 0)
		x->head = NULL;
	x->n_head = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -ENOMEM : 0;
}

short clv_exchange_events(const struct clv_exchange *x)
{
	return x->n_sent < x->n_head + x->n_body ? POLLOUT : POLLIN;
}

void clv_exchange_done(struct clv_exchange *x)
{
	if (x->fd >= 0)
		close(x->fd);
	free(x->head);
	free(x->bytes);
	*x = (struct clv_exchange){.fd = -1};
}

int clv_exchange_connect(struct clv_exchange *x, const struct sockaddr_un *address)
{
	if (x->is_connected)
		return 0;
	if (x->fd < 0)
		x->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (x->fd < 0)
		return -ECONNREFUSED;
	while (connect(x->fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
		if (errno != EINTR)
			return errno == EAGAIN ? -EAGAIN : -ECONNREFUSED;
	}
	x->is_connected = true;
	return 0;
}

/* An agent that refuses a request may answer before it has read all of it; the answer is
 * read after any failure. */
static int send_rest(struct clv_exchange *x)
{
	size_t n_all = x->n_head + x->n_body;

	while (x->n_sent < n_all) {
		bool is_head = x->n_sent < x->n_head;
		const char *from =
			is_head ? x->head + x->n_sent : x->body + (x->n_sent - x->n_head);
		ssize_t n = send(x->fd, from, (is_head ? x->n_head : n_all) - x->n_sent,
			MSG_NOSIGNAL);

		if (n >= 0)
			x->n_sent += (size_t)n;
		else if (errno == EAGAIN)
			return -EINPROGRESS;
		else if (errno != EINTR)
			x->n_sent = n_all;
	}
	return 0;
}

static int grow(struct clv_exchange *x)
{
	size_t room = x->room_bytes ? 2 * x->room_bytes : FIRST_ROOM_BYTES;
	char *grown = room <= 2 * RESPONSE_MAX_BYTES ? realloc(x->bytes, room) : NULL;

	if (!grown)
		return -ENOMEM;

	x->bytes = grown;
	x->room_bytes = room;
	return 0;
}

/* Receives once.  A byte is left for the NUL after the body. */
static int receive(struct clv_exchange *x)
{
	ssize_t n;

	if (x->n_bytes + 1 >= x->room_bytes && grow(x) < 0)
		return -ENOMEM;
	do {
		n = recv(x->fd, x->bytes + x->n_bytes, x->room_bytes - x->n_bytes - 1, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -EINPROGRESS : -errno;
	x->n_bytes += (size_t)n;
	return n > 0 ? 0 : -ECONNRESET;
}

/* Whether the answer is there: 1, 0 or an error. */
static int is_complete(const struct clv_exchange *x, struct clv_http_head *ret)
{
	int r = x->n_bytes > 0 ? clv_http_head_read(x->bytes, x->n_bytes, ret) : 0;

	if (r <= 0)
		return r;
	if (ret->body_bytes > RESPONSE_MAX_BYTES)
		return -EMSGSIZE;
	return x->n_bytes - ret->n_bytes >= ret->body_bytes;
}

static int receive_answer(struct clv_exchange *x, struct clv_response *ret)
{
	struct clv_http_head head;
	int r;

	while ((r = is_complete(x, &head)) == 0) {
		r = receive(x);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	ret->status = head.status;
	ret->n_bytes = head.body_bytes;
	memmove(x->bytes, x->bytes + head.n_bytes, head.body_bytes);
	x->bytes[head.body_bytes] = '\0';
	ret->body = CLV_TAKE(x->bytes);
	return 0;
}

int clv_exchange_step(struct clv_exchange *x, const struct sockaddr_un *address,
	struct clv_response *ret)
{
	int r = clv_exchange_connect(x, address);

	if (r == 0)
		r = send_rest(x);
	return r < 0 ? r : receive_answer(x, ret);
}
