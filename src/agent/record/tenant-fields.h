/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

#include <sys/types.h>

/* The fields of a tenant: the schema "Tenant".  The record is summed up for an answer and
 * not stored. */
extern const struct clv_field_table clv_tenant_fields;

struct clv_tenant_record {
	char name[64];
	uid_t uid; /* CLV_CALLER_NO_UID: this machine does not have the user */
	gid_t gid;
	uint32_t n_leases, n_queued;        /* active leases, and waiting ones */
	uint64_t compute_ppm, memory_bytes; /* sums over the active leases */
	uint64_t held_ns;
};
