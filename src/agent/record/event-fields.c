/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/record/event-fields.h"

#include "agent/record/event-record.h"
#include "base/cleanup.h"

#define RECORD(how, member) CLV_FIELD_MEMBER(struct clv_event, how, member)
#define KEPT(name) .column = name, .since = 1

/* clang-format off */
static const struct clv_field rows[] = {
	{"id", "integer", RECORD(U64, id), KEPT("id")},
	{"time", "time", RECORD(TIME, time_real_ns), KEPT("time_ns")},
	{"type", "string", RECORD(TEXT, type), KEPT("type")},
	{"lease", "string?", RECORD(TEXT, lease), KEPT("lease")},
	{"name", "string?", RECORD(TEXT, name), KEPT("name")},
	{"device", "string?", RECORD(TEXT, device), KEPT("device")},
	{"uid", "integer?", RECORD(OWNER, uid), KEPT("uid")},
	{"message", "string", RECORD(TEXT, message), KEPT("message")},
};
/* clang-format on */

const struct clv_field_table clv_event_fields = {rows, CLV_ARRAY_SIZE(rows)};
