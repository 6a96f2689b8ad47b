/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sockaddr_un;

struct clv_request {
	const char *method;
	const char *path; /* with its query */
	const char *body; /* NULL: none */
	size_t n_bytes;
	const char *content_type;
	const char *idempotency_key; /* idempotency key; "": none */
	uint32_t timeout_ms;
};

struct clv_response {
	long status;
	char *body; /* NUL-terminated, never NULL on success */
	size_t n_bytes;
};

/* One request and its answer, on a connection of its own, step by step: no step waits.
 * Used by one thread.  To begin with: zeroed, with fd -1. */
struct clv_exchange {
	int fd;
	bool is_connected;
	char *head;       /* of the request */
	const char *body; /* borrowed; NULL: none */
	size_t n_head, n_body, n_sent;
	char *bytes; /* received */
	size_t n_bytes, room_bytes;
};

/* Sets the request, of which path and body stay the caller's.  -ENOMEM. */
int clv_exchange_set(struct clv_exchange *x, const struct clv_request *request);

/* Connects; the next step does so, too.  0, -EAGAIN or -ECONNREFUSED, as below. */
int clv_exchange_connect(struct clv_exchange *x, const struct sockaddr_un *address);

/* Goes on as far as it can.  0: *ret is the answer.  -EINPROGRESS: to be called again
 * once the descriptor has clv_exchange_events().  -EAGAIN: the queue of the agent's
 * socket is full, and nothing can be polled.  -ECONNREFUSED: the request was never sent.
 * -ENOMEM, -EMSGSIZE, -EBADMSG; -ECONNRESET: the connection ended. */
int clv_exchange_step(struct clv_exchange *x, const struct sockaddr_un *address,
	struct clv_response *ret);
/* POLLOUT or POLLIN. */
short clv_exchange_events(const struct clv_exchange *x);
/* Closes the connection and frees what it has. */
void clv_exchange_done(struct clv_exchange *x);
