/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_error;

/* Parses the body of PUT /v1/projects/{project}: an object of the schema ProjectReport,
 * and nothing else.  Pure; data may be any bytes.  Texts are lines of a bounded length,
 * integers from 0 to 2^53, numbers from 0 to 1.  The caller owns *ret.  Returns 0,
 * -EINVAL, -ERANGE or -EMSGSIZE. */
int clv_request_parse_project(
	const char *data, size_t n_bytes, json_t **ret, struct clv_error *err);

/* Whether the text can be the name of a project. */
bool clv_request_is_project(const char *name);
