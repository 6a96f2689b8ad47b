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
#define ELSEWHERE .source = CLV_FIELD_BY_CALLER

/* clang-format off */
static const struct clv_field devices[] = {
	{"name", "string", RECORD(TEXT, name)},
	{"uuid", "string", RECORD(TEXT, uuid)},
	{"model", "string", RECORD(TEXT, model)},
	{"vendor", "string", RECORD(TEXT, vendor)},
	{"driver", "string", "version of the driver", RECORD(TEXT, driver)},
	{"cuda_version", "string", "newest CUDA of its driver; empty: not known",
		RECORD(TEXT, generation.cuda)},
	{"architecture", "string", "hopper, gfx942; empty: not known",
		RECORD(TEXT, generation.architecture)},
	{"compute_capability", "string", "CUDA's, as 9.0; empty: not known",
		RECORD(TEXT, generation.capability)},
	{"type", "string", "gpu, cpu or accelerator", RECORD(TEXT, type)},
	{"backend", "string", BY_FUNCTION},
	{"executor", "gate|hardware|cpu|none", "what ends turns on it", BY_FUNCTION},
	{"platform", "string", RECORD(TEXT, locator.platform)},
	{"compute_units", "integer", RECORD(U32, compute_units)},
	{"memory_bytes", "integer", RECORD(U64, memory_bytes)},
	{"max_allocation_bytes", "integer", RECORD(U64, max_allocation_bytes)},
	{"share_promised", "number", SAMPLE(PPM64, promised_ppm)},
	{"memory_promised_bytes", "integer", SAMPLE(U64, promised_bytes)},
	{"memory_used_bytes", "integer", SAMPLE(U64, used_bytes)},
	{"leases", "integer", SAMPLE(U64, n_leases)},
	{"queued", "integer", SAMPLE(U64, n_queued)},
	{"debt_seconds", "number", "debts of tenants from ended leases", SAMPLE(NS, debt_ns)},
	{"executor_reason", "string?", "why this executor is used; null: none was tried",
		BY_FUNCTION},
	{"hand_over_seconds", "number?",
		"between the work of one lease and that of the next; null: not measured",
		SAMPLE(NS, hand_over_ns)},
	{"turn_seconds", "number?",
		"length of a turn of class normal, which grows with hand_over_seconds",
		SAMPLE(NS, turn_ns)},
	{"parent", "string?", "of a partition: the device that it is a part of", BY_FUNCTION},
	{"partition", "Partition?", BY_FUNCTION},
	{"cordoned", "boolean", "it takes no new lease", BY_FUNCTION},
	{"cordon_reason", "string?", BY_FUNCTION},
	{"divided", "boolean", "its partitions are leased, not the whole", BY_FUNCTION},
	{"numa_node", "integer?", BY_FUNCTION},
	{"health", "Health", ELSEWHERE},
	{"power_watts", "number?", "as its driver reports it; null: it does not", ELSEWHERE},
	{"temperature_celsius", "number?", ELSEWHERE},
	{"energy_joules", "number?", "since its driver was loaded", ELSEWHERE},
	{"utilization", "number?", "part of the driver's last sampling period in which work ran",
		ELSEWHERE},
	{"encoder_utilization", "number?", ELSEWHERE},
	{"decoder_utilization", "number?", ELSEWHERE},
	{"driver_memory_used_bytes", "integer?", "by all processes, as its driver reports it",
		ELSEWHERE},
	{"processes", "[DriverProcess]",
		"that its driver sees on it; tenants are shown their own",
		ELSEWHERE},
};

static const struct clv_field partitions[] = {
	{"scheme", "mig|xcp|vf|cores", RECORD(TEXT, scheme)},
	{"profile", "string", RECORD(TEXT, profile)},
	{"uuid", "string", "as the vendor's runtime knows it", RECORD(TEXT, uuid)},
	{"address", "string",
		"processors, a PCI address, a device node, or numbers of MIG instances",
		RECORD(TEXT, address)},
	{"io_die", "integer?",
		"of an AMD GPU: its I/O die, from 0, that the partition is on; null: "
		"unknown, or several",
		BY_FUNCTION},
};
/* clang-format on */

const struct clv_field_table clv_device_fields = {devices, CLV_ARRAY_SIZE(devices)};
const struct clv_field_table clv_partition_fields = {
	partitions, CLV_ARRAY_SIZE(partitions)};
