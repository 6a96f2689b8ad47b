/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/record/standing-fields.h"

#include "agent/record/standing-record.h"
#include "base/cleanup.h"

#define RECORD(how, member) CLV_FIELD_MEMBER(struct clv_standing_share, how, member)
#define BY_FUNCTION .source = CLV_FIELD_BY_FUNCTION
#define KEPT(name, version) .column = name, .since = version, .changes = true

/* clang-format off */
static const struct clv_field rows[] = {
	{"name", "string", "the argument of cleave run --in", RECORD(TEXT, name),
		.column = "name", .since = 2},
	{NULL, RECORD(TEXT, device_uuid), KEPT("device_uuid", 2)},
	{"device", "string?", "null: it is not present", BY_FUNCTION},
	{"share", "number", RECORD(PPM, share.compute_ppm), KEPT("compute_ppm", 2)},
	{"share_range", "ShareRange?", BY_FUNCTION},
	{NULL, RECORD(U32, share.range.least_ppm), KEPT("least_ppm", 5)},
	{NULL, RECORD(U32, share.range.most_ppm), KEPT("most_ppm", 5)},
	{"cap", "number?", RECORD(PPM, share.cap_ppm), KEPT("cap_ppm", 2)},
	{"memory_bytes", "integer", RECORD(U64, share.memory_bytes), KEPT("memory_bytes", 2)},
	{"class", "latency|normal|batch", RECORD(CLASS, share.class), KEPT("class", 2)},
	{"lease", "string?", "the lease that is in it; null: it is free, or another tenant's",
		BY_FUNCTION},
	{"in_use", "boolean", "a lease is in it, whoever's", BY_FUNCTION},
};
/* clang-format on */

const struct clv_field_table clv_standing_fields = {rows, CLV_ARRAY_SIZE(rows)};
