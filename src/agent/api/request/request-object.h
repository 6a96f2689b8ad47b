/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct clv_error;

/* Parses a body that is an object of the schema, and nothing else.  Pure; data may be any
 * bytes.  Texts are lines of a bounded length, integers from 0 to 2^53, numbers from 0 to
 * 1.  The caller owns *ret.  Returns 0, -EINVAL, -ERANGE or -EMSGSIZE. */
int clv_request_parse_object(const char *schema, const char *data, size_t n_bytes,
	json_t **ret, struct clv_error *err);
