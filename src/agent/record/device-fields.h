/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

/* The fields of a device (schema "Device"), and of the partition that a program is
 * started in ("Partition").  The record of both is struct clv_device; the state file
 * stores it as JSON, by the table in agent/driver/device-json.c. */
extern const struct clv_field_table clv_device_fields;
extern const struct clv_field_table clv_partition_fields;

/* The sample of a device: sums over its leases, and measured times. */
struct clv_device_figures {
	uint64_t promised_ppm, promised_bytes, used_bytes;
	uint64_t n_leases, n_queued;
	uint64_t debt_ns;
	uint64_t hand_over_ns, turn_ns; /* 0: unknown */
};
