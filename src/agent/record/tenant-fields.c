/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/record/tenant-fields.h"

#include "base/cleanup.h"

#define RECORD(how, member) CLV_FIELD_MEMBER(struct clv_tenant_record, how, member)
#define BY_FUNCTION .source = CLV_FIELD_BY_FUNCTION

/* clang-format off */
static const struct clv_field rows[] = {
	{"name", "string", BY_FUNCTION},
	{"uid", "integer?", RECORD(OWNER, uid)},
	{"leases", "integer", RECORD(U32, n_leases)},
	{"queued", "integer", RECORD(U32, n_queued)},
	{"share", "number", "in devices", RECORD(PPM64, compute_ppm)},
	{"memory_bytes", "integer", RECORD(U64, memory_bytes)},
	{"gpu_seconds", "number", "held time of its present leases", RECORD(NS, held_ns)},
	{"allowance", "Allowance", BY_FUNCTION},
};
/* clang-format on */

const struct clv_field_table clv_tenant_fields = {rows, CLV_ARRAY_SIZE(rows)};
