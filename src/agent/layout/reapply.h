/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/apply/apply.h"

#include <jansson.h>
#include <stddef.h>

/* The kept layout has for each device what was last applied to it.  It is applied again
 * when an agent starts: on each device by itself, as soon as the device is there and
 * nothing that uses it is in the way, and without destroying anything.  A device for
 * which it waits is checked again after a second, then with exponential backoff up to a
 * minute.  Loop thread only. */
struct clv_reapply;

/* Registers for the ends of operations with agent->apply, which it must not outlive. */
int clv_reapply_new(
	struct clv_agent *agent, struct clv_reapply **ret, struct clv_error *err);
struct clv_reapply *clv_reapply_free(struct clv_reapply *reapply);

/* Reads the layout, if there is one, and begins, after a resumed operation. */
void clv_reapply_begin(struct clv_reapply *reapply);

/* Whether the first check of all devices, or an operation on one, is under way. */
bool clv_reapply_is_active(const struct clv_reapply *reapply);
/* Whether the request would change a device on which the layout is being applied, or is
 * about to be.  That is short, so callers wait instead of failing with -EBUSY. */
bool clv_reapply_delays(
	const struct clv_reapply *reapply, const struct clv_apply_request *request);
/* Compares the devices on which the layout was applied with it: call when the drivers
 * have shown the node. */
void clv_reapply_compare(struct clv_reapply *reapply);
/* The devices on which the layout is not applied, or not any more. */
size_t clv_reapply_n_waiting(const struct clv_reapply *reapply);
/* The names of the states, as in the API; the last is NULL. */
extern const char *const clv_reapply_states[];
/* An array with the state of each device of the layout; never NULL. */
json_t *clv_reapply_to_json(const struct clv_reapply *reapply);
