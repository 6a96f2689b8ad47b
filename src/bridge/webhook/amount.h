/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* cleave's resources by their names, and amounts of them.  Pure. */

#define CLV_WEBHOOK_SHARE_RESOURCE "cleave.dev/gpu-share"
#define CLV_WEBHOOK_RESOURCE_MAX 64

enum clv_webhook_kind {
	CLV_WEBHOOK_FOREIGN, /* not cleave's */
	CLV_WEBHOOK_SHARE,   /* hundredths of a device */
	CLV_WEBHOOK_MEMORY,
	CLV_WEBHOOK_WHOLE, /* devices, or replicas of them */
	CLV_WEBHOOK_MIG,
	CLV_WEBHOOK_PART, /* any other, such as other partitions */
};

/* ret_unit_mib: of CLV_WEBHOOK_MEMORY, the unit that the name has; else 0. */
enum clv_webhook_kind clv_webhook_kind_of(const char *resource, uint32_t *ret_unit_mib);

/* The name of the resource that counts memory in this unit. */
void clv_webhook_name_memory(uint64_t unit_bytes, char ret[CLV_WEBHOOK_RESOURCE_MAX]);

/* Reads an amount of a container's resource, a quantity of Kubernetes.  -EINVAL: negative
 * or not a whole number; err says what would work. */
int clv_webhook_read_amount(
	const char *resource, const json_t *value, uint64_t *ret, struct clv_error *err);
