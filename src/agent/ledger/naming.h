/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/lease-request.h"

#include <sys/types.h>

struct clv_error;
struct clv_ledger;

/* Chooses the name of a new lease: the requested one (-EEXIST if the user has a lease of
 * that name), or one made from the command, with a number if it is taken
 * ("python3-2"). */
int clv_naming_choose(struct clv_ledger *ledger, const struct clv_lease_request *request,
	uid_t uid, char ret[CLV_LEASE_NAME_MAX], struct clv_error *err);
