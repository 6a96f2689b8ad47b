/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/lease-request.h"

#include <jansson.h>

struct clv_error;

/* One field of a request to make (CLV_FIELD_CREATE) or to change (CLV_FIELD_CHANGE) a
 * lease. */
int clv_request_take_lease(unsigned int by, const char *name, const json_t *value,
	struct clv_lease_request *request, struct clv_error *err);

/* Fails for a change that names nothing that can be changed. */
int clv_request_fail_empty(struct clv_error *err);
