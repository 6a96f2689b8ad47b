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
		ASKED(1, CREATE, "string", "default: made from the command")},
	{"tenant", "string", RECORD(TEXT, tenant), KEPT("tenant", 1)},
	{"uid", "integer", RECORD(U32, uid), KEPT("uid", 1)},
	{NULL, RECORD(U32, gid), KEPT("gid", 1)},
	{"device", "string", "the first of its devices", BY_FUNCTION,
		ASKED(2, CREATE, "string", "by name or UUID")},
	{NULL, RECORD(TEXT, device_uuid), KEPT("device_uuid", 1), .changes = true},
	{NULL, RECORD(TEXT, boot_id), KEPT("boot_id", 1)},
	{"state", "queued|active", BY_FUNCTION, RECORD(BOOL, is_queued),
		KEPT("is_queued", 1), .changes = true},
	{"share", "number", "the share at present; with a share_range it moves",
		RECORD(PPM, share.compute_ppm),
		KEPT("compute_ppm", 1), .changes = true,
		ASKED(8, CREATE | CHANGE, "number", "part of the device's time, from 0 to 1")},
	{"cap", "number?", "the most of the device's time that it gets; null: no cap",
		RECORD(PPM, share.cap_ppm),
		KEPT("cap_ppm", 1), .changes = true,
		ASKED(10, CREATE | CHANGE, "number?",
			"the most of the device's time that it gets, even of an idle "
			"device; null: no cap")},
	{"memory_bytes", "integer", "the memory quota", RECORD(U64, share.memory_bytes),
		KEPT("memory_bytes", 1), .changes = true,
		ASKED(11, CREATE | CHANGE, "integer", "the memory quota")},
	{"class", "latency|normal|batch", RECORD(CLASS, share.class), KEPT("class", 1),
		.changes = true,
		ASKED(13, CREATE | CHANGE, "latency|normal|batch",
			"when it runs, not how much time it gets")},
	{"overcommit", "boolean",
		"it was admitted without regard to the promises on the device",
		RECORD(BOOL, overcommit), KEPT("overcommit", 1),
		ASKED_INTO(16, CREATE, "boolean",
			"admit it even if more than the device is promised then, if "
			"the node allows that",
			BOOL, overcommit, .passes = true)},
	{"queue_position", "integer?", "1 is next", BY_FUNCTION},
	{"created_at", "time", RECORD(TIME, created_real_ns), KEPT("created_ns", 1)},
	{"expires_at", "time?", "when the agent ends it; null: never",
		RECORD(TIME, expires_real_ns), KEPT("expires_ns", 4), .changes = true},
	{NULL, RECORD(U64, ends_boot_ns), KEPT("ends_boot_ns", 13)},
	{"holder_pid", "integer?", "the process that requested it; null: it is kept",
		RECORD(I32, holder.pid),
		KEPT("holder_pid", 1)},
	{NULL, RECORD(U64, holder.start_ticks), KEPT("holder_start", 1)},
	{"kept", "boolean", "it ends when it is released, not with a process",
		RECORD(BOOL, is_kept), KEPT("is_kept", 8)},
	{"admit", "holders|socket",
		"which processes may attach: holders and their descendants, or all "
		"that reach its socket",
		RECORD(ADMIT, admit), KEPT("admit", 8),
		ASKED_INTO(21, CREATE, "holders|socket", "with keep: which processes may attach",
			ADMIT, admit, .passes = true)},
	{"holder", "string?",
		"the virtual machine that holds a kept lease, as vm:UUID; null: none",
		RECORD(TEXT, vm), KEPT("holder", 15),
		ASKED_INTO(23, CREATE, "string",
			"with keep, for admins: vm:UUID, a virtual machine, which gets a "
			"whole partition or device",
			TEXT, vm, .passes = true)},
	{"command", "string", RECORD(TEXT, command), KEPT("command", 1),
		ASKED_INTO(7, CREATE, "string", "for display", TEXT, command, .passes = true)},
	{"share_range", "ShareRange?", "the bounds between which the agent moves the share",
		BY_FUNCTION,
		ASKED(9, CREATE | CHANGE, "ShareRange", "in place of share")},
	{NULL, RECORD(U32, share.range.least_ppm), KEPT("least_ppm", 5), .changes = true},
	{NULL, RECORD(U32, share.range.most_ppm), KEPT("most_ppm", 5), .changes = true},
	{"spill_bytes", "integer", "host memory that it may use beyond memory_bytes",
		RECORD(U64, share.spill_bytes), KEPT("spill_bytes", 6), .changes = true,
		ASKED(12, CREATE | CHANGE, "integer",
			"host memory that it may use beyond memory_bytes; CUDA programs only")},
	{"sm", "SmLimit?", "limit in multiprocessors or compute units; null: none", BY_FUNCTION,
		ASKED(14, CREATE, "number",
			"at most this part of the multiprocessors or compute units at once")},
	{NULL, RECORD(U32, sm.ppm), KEPT("sm_ppm", 7), .changes = true},
	{NULL, RECORD(U32, sm.first_ppm), KEPT("sm_first_ppm", 7), .changes = true},
	{"memory_held_by", "kernel|gate",
		"what enforces the quota: the kernel or the driver as well, or the gate alone",
		BY_FUNCTION},
	{"share_used", "number", "part of the last second for which it held the device",
		BY_FUNCTION},
	{"held_seconds", "number", "held time: for which it had the device and is charged",
		SAMPLE(NS, held_ns)},
	{"busy_seconds", "number", "for which its gates report that work ran",
		SAMPLE(NS, busy_ns)},
	{"throttled_seconds", "number", "for which its cap delayed waiting work",
		SAMPLE(NS, throttled_ns)},
	{"waited_seconds", "number", "for which its programs waited for a turn",
		SAMPLE(NS, waited_ns)},
	{"turns", "integer", "that it has had", SAMPLE(U64, turns)},
	{"revocations", "integer", "turns that ended early for another lease",
		SAMPLE(U64, revocations)},
	{"memory_used_bytes", "integer", "allocated by its programs, with the overhead",
		SAMPLE(U64, memory_used_bytes)},
	{"spilled_bytes", "integer", "allocated by its programs in host memory",
		SAMPLE(U64, spilled_bytes)},
	{"memory_overhead_bytes", "integer",
		"that only its driver reports: contexts, loaded code",
		SAMPLE(U64, memory_overhead_bytes)},
	{"refusals", "integer", "allocations refused because of the quota",
		SAMPLE(U64, refused)},
	{"waiting", "boolean", "it has work and no turn", SAMPLE(BOOL, waiting)},
	{"holding", "boolean", "it has the turn now", SAMPLE(BOOL, holding)},
	{"lag_seconds", "number", "device time that is due to it; below 0: that it owes",
		SAMPLE(NS, lag_ns), .drifts = true},
	{"overdue", "integer", "turns whose work did not end in time", SAMPLE(U64, overdue)},
	/* Totals of earlier agents, which the sample includes. */
	{NULL, RECORD(U64, held_ns), KEPT("held_ns", 1), .changes = true},
	{NULL, RECORD(U64, throttled_ns), KEPT("throttled_ns", 1), .changes = true},
	{NULL, RECORD(U64, turns), KEPT("turns", 1), .changes = true},
	{NULL, RECORD(U64, revocations), KEPT("revocations", 1), .changes = true},
	{NULL, RECORD(U64, overdue), KEPT("overdue", 1), .changes = true},
	/* Of a queued lease, to be placed again. */
	{NULL, RECORD(BOOL, asked.may_move), KEPT("may_move", 11)},
	{NULL, RECORD(TEXT, asked.device), KEPT("asked_device", 11)},
	{NULL, RECORD(TEXT, asked.profile), KEPT("asked_profile", 11)},
	{NULL, RECORD(U32, asked.compute_ppm), KEPT("asked_ppm", 11), .changes = true},
	{NULL, RECORD(U64, asked.memory_bytes), KEPT("asked_bytes", 11), .changes = true},
	{"tenant_debt_seconds", "number",
		"debt of its tenant on the device, from present and ended leases", BY_FUNCTION,
		.drifts = true},
	{"in", "string?", "the standing share that it is in",
		RECORD(TEXT, standing), KEPT("standing", 2),
		ASKED_INTO(5, CREATE, "string", "the standing share to use", TEXT, in)},
	{"partition", "Partition?", "of its first device, if that is a partition", BY_FUNCTION},
	{"devices", "[LeaseDevice]", BY_FUNCTION,
		ASKED(3, CREATE, "[string]", "two or more whole devices")},
	{"processes", "[Process]", BY_FUNCTION},
	{"driver_memory_bytes", "integer?", "held by its processes, as the driver reports it",
		BY_FUNCTION},
	{"driver_utilization", "number?",
		"the driver's utilization of the device by its processes, 0 to 1",
		BY_FUNCTION},
	{"over_quota", "boolean",
		"its processes hold more than the quota, as the driver reports, for "
		"longer than the settings' grace",
		BY_FUNCTION},
	{"past_gate", "boolean",
		"its processes compute more than its turns, as the driver reports, for "
		"longer than the settings' grace",
		BY_FUNCTION},
	{"throttled", "boolean", "because it exceeds its quota", BY_FUNCTION},
	{"uses_ungated", "[string]", "APIs in use that no gate enforces", BY_FUNCTION},
	{"socket", "string", "to which its gates connect", BY_FUNCTION},

	/* Only in requests. */
	{"profile",
		ASKED_INTO(4, CREATE, "string", "use a partition of this profile", TEXT,
			profile)},
	{"isolation", ASKED(6, CREATE, "hardware|gate",
			"hardware: a partition of its own, created if needed; gate: a share")},
	{"wait", ASKED_INTO(15, CREATE, "boolean", "queue it if it does not fit", BOOL, wait)},
	{"count",
		ASKED_INTO(17, CREATE, "integer", "number of whole devices", U32, count,
			.least = 1, .most = CLV_LEASE_DEVICES_MAX)},
	{"same_device",
		ASKED_INTO(18, CREATE, "boolean", "with count: only partitions of one device",
			BOOL, is_same_device)},
	{"time",
		ASKED_INTO(19, CREATE, "integer", "seconds after which the agent ends it",
			U64, time_s,
			.least = 1, .most = TIME_MAX_S, .unit = "seconds")},
	{"keep",
		ASKED_INTO(20, CREATE, "boolean",
			"it ends when it is released, and no process holds it", BOOL, keep)},
	{"user", ASKED(22, CREATE, "integer", "with keep, for admins: the uid of its owner")},
};
/* clang-format on */

const struct clv_field_table clv_lease_fields = {rows, CLV_ARRAY_SIZE(rows)};
