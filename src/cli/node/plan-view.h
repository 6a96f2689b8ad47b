/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_client;
struct clv_input;

/* Fetches plans from the agent, and prints them. */

/* How a plan is printed.  The first member of the settings of the verbs that print one.
 */
struct clv_plan_settings {
	struct clv_common common;
	bool explain;
	bool verbose;
};

/* Asks the agent for the plan of a layout.  0 or an exit code. */
int clv_plan_fetch(
	struct clv_client *client, const struct clv_input *input, json_t **ret);

/* The same for a file; connects to the agent, or starts one. */
int clv_plan_of_file(const struct clv_common *common, const char *path, json_t **ret);

/* Prints the steps, the partitions that stay and the obstacles; warnings go to stderr.  0
 * or an exit code. */
int clv_plan_show(const struct clv_plan_settings *settings, const json_t *plan);

/* Prints the steps as additions, removals and changes.  0 or an exit code. */
int clv_plan_show_difference(const struct clv_common *common, const json_t *plan);

/* Prints the devices on which the kept layout is not applied, and the
 * steps that wait. *ret_n: how many devices.  0 or an exit code. */
int clv_plan_show_wanted(
	const struct clv_common *common, const json_t *wanted, size_t *ret_n);

size_t clv_plan_count_steps(const json_t *plan);

/* Whether there is a step, or a standing share changes. */
bool clv_plan_differs(const json_t *plan);

void clv_plan_warn(const json_t *plan);

/* Whether holders block the plan. */
bool clv_plan_is_blocked(const json_t *plan);

/* Prints the first of these holders, and returns the exit code. */
int clv_plan_fail_blocked(const json_t *plan);

/* Whether a step or an obstacle concerns this device. */
bool clv_plan_is_about(const json_t *plan, const char *device);

/* The number of steps that destroy something or reset a device. */
size_t clv_plan_count_losses(const json_t *plan);
/* The number of standing shares that are removed. */
size_t clv_plan_count_lost_shares(const json_t *plan);
