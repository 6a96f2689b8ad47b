/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/standing-record.h"
#include "core/plan/plan.h"
#include "core/share/admission.h"
#include "core/share/share.h"

struct clv_agent;
struct clv_agent_device;
struct clv_error;

/* Standing shares: parts of devices and partitions that a layout sets aside by name, each
 * for one lease at a time (cleave run --in NAME).  Loop thread only. */

struct clv_standing;

/* Reads the standing shares from the state file; an error there is logged. */
int clv_standing_new(
	struct clv_agent *agent, struct clv_standing **ret, struct clv_error *err);
struct clv_standing *clv_standing_free(struct clv_standing *standing);

/* Reads them again, from a state file that could not be opened before. */
void clv_standing_read(struct clv_standing *standing);

/* Checks that the shares of a plan fit their devices and partitions, where the memory of
 * these is known.  -ERANGE or -EINVAL with a message that names the layout and the
 * share. */
int clv_standing_check(const struct clv_node *node, const struct clv_plan *plan,
	const char *layout_name, struct clv_error *err);

/* Adds obstacles to the plan: the active leases beside which its standing shares do not
 * fit. 0 or a negative errno. */
int clv_standing_add_obstacles(
	struct clv_agent *agent, struct clv_plan *plan, struct clv_error *err);

/* Replaces the standing shares of the selected devices (is_selected is by index in node)
 * and their partitions by those of the plan, and stores them.  On error nothing is
 * changed. */
int clv_standing_replace(struct clv_standing *standing, const struct clv_node *node,
	const bool *is_selected, const struct clv_plan *plan, struct clv_error *err);

/* The i-th share; NULL behind the last.  Borrowed until the next replace. */
const struct clv_standing_share *clv_standing_at(
	const struct clv_standing *standing, size_t i);

/* Whether the share has this name: "gpu0/train", or its last part, "train". */
bool clv_standing_is_called(const struct clv_standing_share *share, const char *name);

/* Whether the share is of this device ("gpu0") or of a partition of it. */
bool clv_standing_is_of(const struct clv_standing_share *share, const char *device);

/* Adds the device's standing shares that no lease has, except the one named `without`
 * (may be ""), to *promised. */
void clv_standing_add_promised(const struct clv_standing *standing,
	const struct clv_agent_device *device, const char *without,
	struct clv_promised *promised);
