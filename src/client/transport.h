/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/exchange.h"

struct clv_client_error;

/* Requests over one Unix socket, one at a time, that are waited for.  Used by one thread.
 */
struct clv_transport;

/* interrupt_fd is borrowed; 0 or less: none. */
int clv_transport_new(const char *socket_path, int interrupt_fd,
	struct clv_transport **ret, struct clv_client_error *err);
struct clv_transport *clv_transport_free(struct clv_transport *t);

/* Any HTTP status is success here.  The caller frees ret->body. */
int clv_transport_request(struct clv_transport *t, const struct clv_request *request,
	struct clv_response *ret, struct clv_client_error *err);

/* Fills *err for an exchange that failed, a negative errno.  Returns the error of it. */
int clv_transport_fail(const char *path, int error, struct clv_client_error *err);
