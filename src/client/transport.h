/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct clv_client_error;

/* HTTP/1.1 over one Unix socket, with one request at a time on a kept connection.  Used
 * by one thread. */
struct clv_transport;

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

/* interrupt_fd is borrowed; 0 or less: none. */
int clv_transport_new(const char *socket_path, int interrupt_fd,
	struct clv_transport **ret, struct clv_client_error *err);
struct clv_transport *clv_transport_free(struct clv_transport *t);

/* Any HTTP status is success here.  The caller frees ret->body. */
int clv_transport_request(struct clv_transport *t, const struct clv_request *request,
	struct clv_response *ret, struct clv_client_error *err);
