/* SPDX-License-Identifier: Apache-2.0 */
/* The devices and partitions that an operation reserves: closed to leases, the queue and
 * placements from its plan until its end. */
#pragma once

#include "core/device/node.h"
#include "core/plan/plan.h"

#include <stddef.h>

struct clv_apply;

/* A partition that exists or will, or a device with all of its partitions. */
struct clv_mark {
	char uuid[sizeof(((struct clv_device *)NULL)->uuid)]; /* of the device */
	char partition[CLV_PARTITION_NAME_MAX];               /* "": the device */
};

struct clv_marks {
	struct clv_mark *items;
	size_t n;
};

/* Replaces the marks by those of what the plan changes, creates or destroys.  If
 * memory is lacking some are missing, and a lease may block a step. */
void clv_marks_take(struct clv_marks *marks, const struct clv_plan *plan,
	const struct clv_node *node);
void clv_marks_clear(struct clv_marks *marks);

/* Sets clv_agent_device.is_changing of all devices, by the operations under way and by
 * the devices on which the kept layout is about to be applied, and serves the queues of
 * those that are open again. */
void clv_marks_update(struct clv_apply *apply);
