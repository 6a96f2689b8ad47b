/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

#include <sys/types.h>

/* A tenant: the schema "Tenant"; the record is summed up to be shown, and kept nowhere.
 */
extern const struct clv_field_table clv_tenant_fields;

struct clv_tenant_record {
	char name[64];
	uid_t uid; /* CLV_CALLER_NOBODY: this machine does not know him */
	gid_t gid;
	uint32_t n_leases, n_queued;        /* active ones, and waiting ones */
	uint64_t compute_ppm, memory_bytes; /* of the active ones */
	uint64_t held_ns;
};
