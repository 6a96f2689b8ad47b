/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/lease-request.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct json_t;

/* Parse the body of POST /v1/leases and of PATCH /v1/leases/{id}. Pure; data may be any
 * bytes.  Return 0, or -EINVAL, -ERANGE or -EMSGSIZE. */
int clv_request_parse_lease(const char *data, size_t n_bytes,
	struct clv_lease_request *ret, struct clv_error *err);
int clv_request_parse_resize(const char *data, size_t n_bytes,
	struct clv_lease_request *ret, struct clv_error *err);
/* The same for a lease that is a part of a body.  -EINVAL or -ERANGE. */
int clv_request_read_lease(
	const struct json_t *value, struct clv_lease_request *ret, struct clv_error *err);

/* Parses the body of POST /v1/leases/{id}/holders. */
int clv_request_parse_holder(
	const char *data, size_t n_bytes, int *ret_pid, struct clv_error *err);

/* Parses a number in a query: decimal digits only, from 0 to most. */
int clv_request_parse_number(const char *name, const char *text, uint64_t most,
	uint64_t *ret, struct clv_error *err);
int clv_request_parse_limit(
	const char *text, uint64_t most, uint64_t *ret, struct clv_error *err);
