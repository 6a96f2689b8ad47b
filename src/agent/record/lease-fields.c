/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a lease's fields, in the order of answers. */
#include "agent/record/lease-fields.h"

#include "agent/record/lease-record.h"
#include "agent/record/lease-request.h"
#include "arbiter/arbiter.h"
#include "base/cleanup.h"

#define TIME_MAX_S (365 * 86400)

#define RECORD(how, member) CLV_FIELD_MEMBER(struct clv_lease_record, how, member)
#define SAMPLE(how, member)            \
	.source = CLV_FIELD_OF_SAMPLE, \
	CLV_FIELD_MEMBER(struct clv_arbiter_sample, how, member)
#define BY_FUNCTION .source = CLV_FIELD_BY_FUNCTION
#define KEPT(name, version) .column = name, .since = version
#define CREATE CLV_FIELD_CREATE
#define CHANGE CLV_FIELD_CHANGE
/* ASKED: a function of agent/api/request parses the field; ASKED_INTO: the value goes
 * into a member of the request. */
#define ASKED(n_, by_, type_, about_) \
	.asked = {.number = n_, .by = by_, .type = type_, .about = about_}
#define ASKED_INTO(n_, by_, type_, about_, how, member, ...)             \
	.asked = {.number = n_,                                          \
		.by = by_,                                               \
		.type = type_,                                           \
		.about = about_,                                         \
		CLV_FIELD_MEMBER(struct clv_lease_request, how, member), \
		__VA_ARGS__}

/* clang-format off */
static const struct clv_field rows[] = {
	{"id", "string", RECORD(TEXT, id), KEPT("id", 1)},
	{"name", "string", RECORD(TEXT, name), KEPT("name", 1),
		ASKED(1, CREATE, "string", "one is made without it")},
	{"tenant", "string", RECORD(TEXT, tenant), KEPT("tenant", 1)},
	{"uid", "integer", RECORD(U32, uid), KEPT("uid", 1)},
	{NULL, RECORD(U32, gid), KEPT("gid", 1)},
	{"device", "string", "the first of devices", BY_FUNCTION,
		ASKED(2, CREATE, "string", "by name or UUID")},
	{NULL, RECORD(TEXT, device_uuid), KEPT("device_uuid", 1)},
	{NULL, RECORD(TEXT, boot_id), KEPT("boot_id", 1)},
	{"state", "queued|active", BY_FUNCTION, RECORD(BOOL, is_queued),
		KEPT("is_queued", 1), .changes = true},
	{"share", "number", "at present, of one with a range", RECORD(PPM, share.compute_ppm),
		KEPT("compute_ppm", 1), .changes = true,
		ASKED(8, CREATE | CHANGE, "number", "of the device's time, from 0 to 1")},
	{"cap", "number?", "never more than this; null: no cap", RECORD(PPM, share.cap_ppm),
		KEPT("cap_ppm", 1), .changes = true,
		ASKED(10, CREATE | CHANGE, "number?",
			"never more than this, even when the device is idle; null: no cap")},
	{"memory_bytes", "integer", "the quota", RECORD(U64, share.memory_bytes),
		KEPT("memory_bytes", 1), .changes = true,
		ASKED(11, CREATE | CHANGE, "integer", "the quota")},
	{"class", "latency|normal|batch", RECORD(CLASS, share.class), KEPT("class", 1),
		.changes = true,
		ASKED(13, CREATE | CHANGE, "latency|normal|batch",
			"how fast it is served, never how much it gets")},
	{"overcommit", "boolean", "it did not have to fit what is promised",
		RECORD(BOOL, overcommit), KEPT("overcommit", 1),
		ASKED_INTO(16, CREATE, "boolean",
			"even when more than the device is promised then, if the node allows it",
			BOOL, overcommit, .passes = true)},
	{"queue_position", "integer?", "1 is next", BY_FUNCTION},
	{"created_at", "time", RECORD(TIME, created_real_ns), KEPT("created_ns", 1)},
	{"expires_at", "time?", "when it is ended; null: never",
		RECORD(TIME, expires_real_ns), KEPT("expires_ns", 4), .changes = true},
	{"holder_pid", "integer?", "who asked for it; null: it is kept", RECORD(I32, holder.pid),
		KEPT("holder_pid", 1)},
	{NULL, RECORD(U64, holder.start_ticks), KEPT("holder_start", 1)},
	{"kept", "boolean", "it ends when it is released, not with a process",
		RECORD(BOOL, is_kept), KEPT("is_kept", 8)},
	{"admit", "holders|socket",
		"who may attach: who holds it and what they start, or whoever reaches its socket",
		RECORD(ADMIT, admit), KEPT("admit", 8),
		ASKED_INTO(21, CREATE, "holders|socket", "with keep: who may attach", ADMIT,
			admit, .passes = true)},
	{"command", "string", RECORD(TEXT, command), KEPT("command", 1),
		ASKED_INTO(7, CREATE, "string", "for people", TEXT, command, .passes = true)},
	{"share_range", "ShareRange?", "between these the agent moves it", BY_FUNCTION,
		ASKED(9, CREATE | CHANGE, "ShareRange", "in place of share")},
	{NULL, RECORD(U32, share.range.least_ppm), KEPT("least_ppm", 5), .changes = true},
	{NULL, RECORD(U32, share.range.most_ppm), KEPT("most_ppm", 5), .changes = true},
	{"spill_bytes", "integer", "of the host's memory that it may have beyond it",
		RECORD(U64, share.spill_bytes), KEPT("spill_bytes", 6), .changes = true,
		ASKED(12, CREATE | CHANGE, "integer",
			"of the host's memory beyond it; CUDA programs alone")},
	{"sm", "SmLimit?", "how much of the device it may use at once; null: all", BY_FUNCTION,
		ASKED(14, CREATE, "number",
			"at most this part of the multiprocessors or compute units at once")},
	{NULL, RECORD(U32, sm.ppm), KEPT("sm_ppm", 7), .changes = true},
	{NULL, RECORD(U32, sm.first_ppm), KEPT("sm_first_ppm", 7), .changes = true},
	{"memory_held_by", "kernel|gate",
		"who holds the quota: the kernel or the driver as well, or the gate alone",
		BY_FUNCTION},
	{"share_used", "number", "of the last second", BY_FUNCTION},
	{"held_seconds", "number", "for which it had the device, which it pays for",
		SAMPLE(NS, held_ns)},
	{"busy_seconds", "number", "for which its programs say that work ran",
		SAMPLE(NS, busy_ns)},
	{"throttled_seconds", "number", "kept back by its own cap, with work waiting",
		SAMPLE(NS, throttled_ns)},
	{"waited_seconds", "number", "for which its programs stood in line", SAMPLE(NS, waited_ns)},
	{"turns", "integer", "that it had", SAMPLE(U64, turns)},
	{"revocations", "integer", "turns that ended early for another lease",
		SAMPLE(U64, revocations)},
	{"memory_used_bytes", "integer", "that its programs asked for, and the overhead",
		SAMPLE(U64, memory_used_bytes)},
	{"spilled_bytes", "integer", "that its programs asked for and have in the host's memory",
		SAMPLE(U64, spilled_bytes)},
	{"memory_overhead_bytes", "integer", "that only its driver shows: contexts, loaded code",
		SAMPLE(U64, memory_overhead_bytes)},
	{"refusals", "integer", "allocations beyond the quota", SAMPLE(U64, refused)},
	{"waiting", "boolean", "it has work and no turn", SAMPLE(BOOL, waiting)},
	{"holding", "boolean", "it has the turn now", SAMPLE(BOOL, holding)},
	{"lag_seconds", "number", "time on the device that it is owed; below 0: that it owes",
		SAMPLE(NS, lag_ns)},
	{"overdue", "integer", "times that its work did not end in time", SAMPLE(U64, overdue)},
	/* Totals of earlier agents, which the sample includes. */
	{NULL, RECORD(U64, held_ns), KEPT("held_ns", 1), .changes = true},
	{NULL, RECORD(U64, throttled_ns), KEPT("throttled_ns", 1), .changes = true},
	{NULL, RECORD(U64, turns), KEPT("turns", 1), .changes = true},
	{NULL, RECORD(U64, revocations), KEPT("revocations", 1), .changes = true},
	{NULL, RECORD(U64, overdue), KEPT("overdue", 1), .changes = true},
	{"tenant_debt_seconds", "number",
		"that its tenant owes there, of leases that are and that ended", BY_FUNCTION},
	{"in", "string?", "the standing share", RECORD(TEXT, standing), KEPT("standing", 2),
		ASKED_INTO(5, CREATE, "string", "inside this standing share", TEXT, in)},
	{"partition", "Partition?", "what its first device is, of a partition", BY_FUNCTION},
	{"devices", "[LeaseDevice]", BY_FUNCTION,
		ASKED(3, CREATE, "[string]", "two or more, all of them whole")},
	{"processes", "[Process]", BY_FUNCTION},
	{"driver_memory_bytes", "integer?", "that the driver says its processes hold",
		BY_FUNCTION},
	{"driver_utilization", "number?",
		"part of the device that its processes compute on, as the driver says",
		BY_FUNCTION},
	{"over_quota", "boolean",
		"its processes hold more than the quota, as the driver says, for longer than the "
		"settings' grace",
		BY_FUNCTION},
	{"past_gate", "boolean",
		"its processes compute more than its turns, as the driver says, for longer than "
		"the settings' grace",
		BY_FUNCTION},
	{"throttled", "boolean", "for being over its quota", BY_FUNCTION},
	{"uses_ungated", "[string]", "APIs in use that no gate holds", BY_FUNCTION},
	{"socket", "string", "of its gates", BY_FUNCTION},

	/* Only in requests. */
	{"profile",
		ASKED_INTO(4, CREATE, "string", "inside a partition of this shape", TEXT,
			profile)},
	{"isolation", ASKED(6, CREATE, "hardware|gate",
			"hardware: a partition of its own, made if need be; gate: a share")},
	{"wait", ASKED_INTO(15, CREATE, "boolean", "queue when it does not fit", BOOL, wait)},
	{"count",
		ASKED_INTO(17, CREATE, "integer", "of devices, each whole", U32, count,
			.least = 1, .most = CLV_LEASE_DEVICES_MAX)},
	{"same_device",
		ASKED_INTO(18, CREATE, "boolean", "with count: partitions of one device alone",
			BOOL, is_same_device)},
	{"time",
		ASKED_INTO(19, CREATE, "integer", "seconds until it is ended", U64, time_s,
			.least = 1, .most = TIME_MAX_S, .unit = "seconds")},
	{"keep",
		ASKED_INTO(20, CREATE, "boolean", "until it is released, held by no process",
			BOOL, keep)},
	{"user", ASKED(22, CREATE, "integer", "with keep, by admins: whose it is")},
};
/* clang-format on */

const struct clv_field_table clv_lease_fields = {rows, CLV_ARRAY_SIZE(rows)};
