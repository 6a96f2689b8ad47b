/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Parsing that libmicrohttpd leaves to its caller.  Pure functions; the input is
 * untrusted. */

/* Decodes percent-encoding in a path or a query, in place; returns the new length.  "%00"
 * stays as it is, because a NUL would cut the text. */
size_t clv_wire_unescape(char *text);

/* Whether a path matches a route such as "/v1/leases/{lease}".  argument gets the part of
 * the path in the place of the braces; "" for a route without braces. */
bool clv_wire_match(
	const char *route, const char *path, char *argument, size_t argument_bytes);

#define CLV_TOKEN_PREFIX "clv_"

/* Splits "Bearer clv_ID_SECRET"; *ret_secret points into the header.  False: the header
 * has another form. */
bool clv_wire_split_bearer(
	const char *header, char *id, size_t id_bytes, const char **ret_secret);

/* Whether a text may be an Idempotency-Key: printable ASCII without blanks, 1 to room - 1
 * characters. */
bool clv_wire_is_key(const char *key, size_t room);
