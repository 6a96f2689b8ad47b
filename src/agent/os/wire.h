/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What of a request libmicrohttpd leaves to us to read.  Pure: data may be anything. */

/* Percent signs in a path or a query, in place; returns the new length.  A NUL stays as
 * it is written ("%00"): a text that ended there would be another one. */
size_t clv_wire_unescape(char *text);

/* Whether a path is that of a route, "/v1/leases/{lease}"; what stands for the part in
 * braces goes to argument, "" where there is none. */
bool clv_wire_match(
	const char *route, const char *path, char *argument, size_t argument_bytes);

#define CLV_TOKEN_PREFIX "clv_"

/* "Bearer clv_ID_SECRET" into its two parts; *ret_secret is borrowed from the header. */
bool clv_wire_split_bearer(
	const char *header, char *id, size_t id_bytes, const char **ret_secret);

/* Whether it may be an Idempotency-Key: printable, without blanks, of 1 to room - 1. */
bool clv_wire_is_key(const char *key, size_t room);
