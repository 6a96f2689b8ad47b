/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/record/device-fields.h"

#include "base/cleanup.h"
#include "core/device/device.h"

#define RECORD(how, member) CLV_FIELD_MEMBER(struct clv_device, how, member)
#define SAMPLE(how, member)            \
	.source = CLV_FIELD_OF_SAMPLE, \
	CLV_FIELD_MEMBER(struct clv_device_figures, how, member)
#define BY_FUNCTION .source = CLV_FIELD_BY_FUNCTION
/* Filled in by agent/device/condition.c, from readings, and by the watchdog. */
#define ELSEWHERE .source = CLV_FIELD_ELSEWHERE

/* clang-format off */
static const struct clv_field devices[] = {
	{"name", "string", RECORD(TEXT, name)},
	{"uuid", "string", RECORD(TEXT, uuid)},
	{"model", "string", RECORD(TEXT, model)},
	{"vendor", "string", RECORD(TEXT, vendor)},
	{"driver", "string", "its version", RECORD(TEXT, driver)},
	{"type", "string", "gpu, cpu or accelerator", RECORD(TEXT, type)},
	{"backend", "string", BY_FUNCTION},
	{"executor", "gate|hardware|cpu|none", "what holds shares of it", BY_FUNCTION},
	{"platform", "string", RECORD(TEXT, locator.platform)},
	{"compute_units", "integer", RECORD(U32, compute_units)},
	{"memory_bytes", "integer", RECORD(U64, memory_bytes)},
	{"max_allocation_bytes", "integer", RECORD(U64, max_allocation_bytes)},
	{"share_promised", "number", SAMPLE(PPM64, promised_ppm)},
	{"memory_promised_bytes", "integer", SAMPLE(U64, promised_bytes)},
	{"memory_used_bytes", "integer", SAMPLE(U64, used_bytes)},
	{"leases", "integer", SAMPLE(U64, n_leases)},
	{"queued", "integer", SAMPLE(U64, n_queued)},
	{"debt_seconds", "number", "that tenants owe of leases that ended", SAMPLE(NS, debt_ns)},
	{"executor_reason", "string?", "why it is the one or the other, where it was tried",
		BY_FUNCTION},
	{"hand_over_seconds", "number?",
		"from the end of one lease's work to the begin of the next's; null: none was seen",
		SAMPLE(NS, hand_over_ns)},
	{"turn_seconds", "number?",
		"how long a turn of the class normal is, longer where hand-overs are",
		SAMPLE(NS, turn_ns)},
	{"parent", "string?", "of a partition: the device that it is a part of", BY_FUNCTION},
	{"partition", "Partition?", BY_FUNCTION},
	{"cordoned", "boolean", "it takes no new lease", BY_FUNCTION},
	{"cordon_reason", "string?", BY_FUNCTION},
	{"divided", "boolean", "its partitions are leased, not the whole", BY_FUNCTION},
	{"numa_node", "integer?", BY_FUNCTION},
	{"health", "Health", ELSEWHERE},
	{"power_watts", "number?", "as its driver says; null: it does not", ELSEWHERE},
	{"temperature_celsius", "number?", ELSEWHERE},
	{"energy_joules", "number?", "since its driver was loaded", ELSEWHERE},
	{"utilization", "number?", "part of the last moments with work on it", ELSEWHERE},
	{"encoder_utilization", "number?", ELSEWHERE},
	{"decoder_utilization", "number?", ELSEWHERE},
	{"driver_memory_used_bytes", "integer?", "by whomever", ELSEWHERE},
	{"processes", "[DriverProcess]", "whom its driver sees on it; to tenants, their own",
		ELSEWHERE},
};

static const struct clv_field partitions[] = {
	{"scheme", "mig|xcp|vf|cores", RECORD(TEXT, scheme)},
	{"profile", "string", RECORD(TEXT, profile)},
	{"uuid", "string", "as the vendor's runtime knows it", RECORD(TEXT, uuid)},
	{"address", "string",
		"processors, a PCI address, a device node, or numbers of MIG instances",
		RECORD(TEXT, address)},
};
/* clang-format on */

const struct clv_field_table clv_device_fields = {devices, CLV_ARRAY_SIZE(devices)};
const struct clv_field_table clv_partition_fields = {
	partitions, CLV_ARRAY_SIZE(partitions)};
