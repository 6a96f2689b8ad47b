/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_client;
struct clv_input;

/* A plan, as the API gives it, for people and for programs. */

/* How a plan is shown.  First in the settings of the verbs that show one. */
struct clv_plan_settings {
	struct clv_common common;
	bool explain;
	bool verbose;
};

/* Asks the agent for the plan of a layout.  0 or an exit code. */
int clv_plan_fetch(
	struct clv_client *client, const struct clv_input *input, json_t **ret);

/* The same for a file, by an agent that is found or started for it. */
int clv_plan_of_file(const struct clv_common *common, const char *path, json_t **ret);

/* Steps, what stays, what is in the way; warnings go to stderr.  0 or an exit code. */
int clv_plan_show(const struct clv_plan_settings *settings, const json_t *plan);

/* The steps as what is added, taken away and changed.  0 or an exit code. */
int clv_plan_show_difference(const struct clv_common *common, const json_t *plan);

size_t clv_plan_count_steps(const json_t *plan);

void clv_plan_warn(const json_t *plan);

/* Somebody holds what would have to change. */
bool clv_plan_is_blocked(const json_t *plan);

/* Says who, and returns the exit code for it. */
int clv_plan_fail_blocked(const json_t *plan);

/* A step or an obstacle of it is about this device. */
bool clv_plan_is_about(const json_t *plan, const char *device);

/* How many steps take something away or reset a device. */
size_t clv_plan_count_losses(const json_t *plan);
