/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/standing-record.h"
#include "core/plan/plan.h"
#include "core/share/admission.h"
#include "core/share/share.h"

struct clv_agent;
struct clv_agent_device;
struct clv_error;

/* Standing shares: parts of devices and partitions that a layout has set aside under a
 * name, each for one lease at a time (cleave run --in NAME).  Loop thread only. */

struct clv_standing;

/* Those that the state file has. */
int clv_standing_new(
	struct clv_agent *agent, struct clv_standing **ret, struct clv_error *err);
struct clv_standing *clv_standing_free(struct clv_standing *standing);

/* Whether each share that a plan would set aside is one of its device or partition, as
 * far as it is known how much memory that has or will have.  -ERANGE or -EINVAL, with the
 * layout and the share. */
int clv_standing_check(const struct clv_node *node, const struct clv_plan *plan,
	const char *layout_name, struct clv_error *err);

/* Leases that what is to be set aside does not fit beside stand in its way: they are
 * added to the plan's obstacles. */
int clv_standing_add_obstacles(
	struct clv_agent *agent, struct clv_plan *plan, struct clv_error *err);

/* In place of all that there are on the devices for which is_selected (by index in node)
 * and on their partitions; after an error all is as it was. */
int clv_standing_replace(struct clv_standing *standing, const struct clv_node *node,
	const bool *is_selected, const struct clv_plan *plan, struct clv_error *err);

/* The i-th; NULL behind the last.  Borrowed until the next replace. */
const struct clv_standing_share *clv_standing_at(
	const struct clv_standing *standing, size_t i);

/* "gpu0/train" by its whole name or by the last part of it: "train". */
bool clv_standing_is_called(const struct clv_standing_share *share, const char *name);

/* What is set aside on the device and not taken by a lease, but for one (may be ""). */
void clv_standing_add_promised(const struct clv_standing *standing,
	const struct clv_agent_device *device, const char *without,
	struct clv_promised *promised);
