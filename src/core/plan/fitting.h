/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

#include <stdint.h>

struct clv_error;

/* The result for a request such as "8 GB, isolated": the smallest new partition of a node
 * that has the memory. */
struct clv_fitting {
	uint32_t device; /* index in node->devices */
	char profile[CLV_PROFILE_NAME_MAX];
	uint64_t memory_bytes;
};

/* Among equally small partitions, a device that is already divided is preferred, then the
 * one on which the fewest other open placements are lost.  Nothing in use has to end for
 * the result.  is_taken: for each device whether an operation has it, which excludes it;
 * NULL: none.  device: a name or UUID, "" for any.  -ENODEV: no device can
 * have such a partition; -EBUSY: none has room at present, or only one that is cordoned
 * or taken. */
int clv_fitting_find(const struct clv_node *node, const bool *is_taken,
	const char *device, uint64_t memory_bytes, struct clv_fitting *ret,
	struct clv_error *err);
