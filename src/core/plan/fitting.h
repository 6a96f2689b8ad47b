/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

#include <stdint.h>

struct clv_error;

/* "8 GB, isolated" is enough to ask: which new partition of which device is the smallest
 * that has the memory. */
struct clv_fitting {
	uint32_t device; /* index in node->devices */
	char profile[CLV_PROFILE_NAME_MAX];
	uint64_t memory_bytes;
};

/* Of equally small ones, that of a device which is divided already goes first, and of
 * such devices the one that loses the fewest other placements that are open.  Never one
 * that would need something in use to end.  device "": any, else its name or UUID.
 * -ENODEV: no device can be divided so; -EBUSY: not at present. */
int clv_fitting_find(const struct clv_node *node, const char *device,
	uint64_t memory_bytes, struct clv_fitting *ret, struct clv_error *err);
