/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#define CLV_HTTP_HEAD_MAX_BYTES 16384u

/* The head of the answer to an HTTP/1.0 request (RFC 9112). */
struct clv_http_head {
	long status;
	size_t n_bytes;    /* of the head with the empty line after it */
	size_t body_bytes; /* by Content-Length */
};

/* Returns 1 with *ret set, 0 if the head goes on after the n_bytes, or -EBADMSG: the
 * bytes are no answer to such a request, or a body of unknown length follows, which the
 * agent never sends.  Any thread. */
int clv_http_head_read(const char *bytes, size_t n_bytes, struct clv_http_head *ret);
