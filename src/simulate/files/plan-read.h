/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "base/yaml.h"

/* Readers of values for the tables of keys of fleets and traces.  `into` is the member
 * that a table names; its type is given here. */
/* The version must be 1; nothing is stored. */
int clv_plan_read_version(struct clv_yaml_value value, void *into, struct clv_error *err);
/* uint64_t, from 1 to a million. */
int clv_plan_read_u64(struct clv_yaml_value value, void *into, struct clv_error *err);
/* uint8_t, up to CLV_PLACE_DEVICES_MAX. */
int clv_plan_read_small(struct clv_yaml_value value, void *into, struct clv_error *err);
/* uint32_t, from 0 to a million. */
int clv_plan_read_index(struct clv_yaml_value value, void *into, struct clv_error *err);
/* uint32_t, in thousandths. */
int clv_plan_read_cpus(struct clv_yaml_value value, void *into, struct clv_error *err);
/* uint32_t, rounded up. */
int clv_plan_read_mib(struct clv_yaml_value value, void *into, struct clv_error *err);
/* uint16_t, in thousandths, rounded up. */
int clv_plan_read_share(struct clv_yaml_value value, void *into, struct clv_error *err);
/* uint64_t */
int clv_plan_read_ns(struct clv_yaml_value value, void *into, struct clv_error *err);
/* double, not negative */
int clv_plan_read_decimal(struct clv_yaml_value value, void *into, struct clv_error *err);
struct clv_plan_watts {
	uint32_t idle_w, full_w;
};
/* struct clv_plan_watts, from "30..300". */
int clv_plan_read_watts(struct clv_yaml_value value, void *into, struct clv_error *err);
/* char[64] */
int clv_plan_read_name(struct clv_yaml_value value, void *into, struct clv_error *err);
/* bool */
int clv_plan_read_flag(struct clv_yaml_value value, void *into, struct clv_error *err);

CLV_DEFINE_CLEANUP(struct clv_yaml *, clv_yaml_free)
#define _cleanup_yaml_ CLV_CLEANUP(clv_yaml_freep)
