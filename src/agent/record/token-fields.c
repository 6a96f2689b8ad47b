/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/record/token-fields.h"

#include "agent/record/token-record.h"
#include "base/cleanup.h"

#define RECORD(how, member) CLV_FIELD_MEMBER(struct clv_token_record, how, member)
#define KEPT(name) .column = name, .since = 4
#define ASKED(n_, type_, about_) \
	.asked = {.number = n_, .by = CLV_FIELD_CREATE, .type = type_, .about = about_}

/* clang-format off */
static const struct clv_field rows[] = {
	{"id", "string", RECORD(TEXT, id), KEPT("id")},
	{"name", "string", RECORD(TEXT, name), KEPT("name"), .changes = true,
		ASKED(1, "string", NULL)},
	{"scope", "admin|tenant|viewer", RECORD(SCOPE, scope), KEPT("scope"), .changes = true,
		ASKED(2, "admin|tenant|viewer", NULL)},
	{"created_at", "time", RECORD(TIME, created_real_ns), KEPT("created_ns"),
		.changes = true},
	{"expires_at", "time?", RECORD(TIME, expires_real_ns), KEPT("expires_ns"),
		.changes = true},
	{"last_used_at", "time?", RECORD(TIME, last_used_real_ns)},
	{"tenant", "string?", RECORD(TEXT, tenant), KEPT("tenant"), .changes = true,
		ASKED(3, "string", "with scope tenant: a user of this machine")},
	{NULL, RECORD(BYTES, hash), KEPT("hash"), .changes = true},

	/* Only in requests. */
	{"expires_in", ASKED(4, "integer", "seconds")},
};
/* clang-format on */

const struct clv_field_table clv_token_fields = {rows, CLV_ARRAY_SIZE(rows)};
