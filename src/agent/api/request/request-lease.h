/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fields of requests to create or change a lease. */
#pragma once

#include "agent/record/lease-request.h"

#include <jansson.h>

struct clv_error;

/* Reads one field of a request to create (CLV_FIELD_CREATE) or change (CLV_FIELD_CHANGE)
 * a lease into *request. 0, -EINVAL or -ERANGE. */
int clv_request_take_lease(unsigned int by, const char *name, const json_t *value,
	struct clv_lease_request *request, struct clv_error *err);

/* Sets the error for a change without any field that can be changed. */
int clv_request_fail_empty(struct clv_error *err);
