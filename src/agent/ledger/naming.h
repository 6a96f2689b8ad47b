/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/lease-request.h"

#include <sys/types.h>

struct clv_error;
struct clv_ledger;

/* The name of a new lease: the one asked for (-EEXIST if the tenant has it already), or
 * one made from the command that the tenant has not got yet ("python3-2"). */
int clv_naming_choose(struct clv_ledger *ledger, const struct clv_lease_request *request,
	uid_t uid, char ret[CLV_LEASE_NAME_MAX], struct clv_error *err);
