/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/lease-request.h"

#include <stddef.h>

struct clv_error;

/* How many leases one request may ask about: all other callers wait meanwhile. */
#define CLV_PLACEMENTS_MAX 256u

/* A lease whose place is asked for. */
struct clv_placement_request {
	struct clv_lease_request lease;
	char instead_of[CLV_LEASE_NAME_MAX]; /* an id or name; "": of none */
	bool ends_first;
};

struct clv_placements_request {
	struct clv_placement_request *items;
	size_t n;
	/* Leases that are taken to have ended. */
	char (*gone)[CLV_LEASE_NAME_MAX];
	size_t n_gone;
};

/* Parses the body of POST /v1/placements.  Pure; data may be any bytes.  Returns 0,
 * -EINVAL, -ERANGE, -EMSGSIZE or -ENOMEM; *ret is to be cleared in any case. */
int clv_request_parse_placements(const char *data, size_t n_bytes,
	struct clv_placements_request *ret, struct clv_error *err);
void clv_placements_request_clear(struct clv_placements_request *request);
