/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

struct clv_project;

/* Prints what a supervisor does, from the event after `after` on, until its services are
 * as the file says, or one of them cannot be.  Returns an exit code: CLV_EXIT_OK,
 * CLV_EXIT_NO_FIT where no device has room, CLV_EXIT_FAILED. */
int clv_follow_up(const struct clv_project *project, json_int_t after);

/* The same for its end. */
int clv_follow_down(const struct clv_project *project, json_int_t after);

/* The id of the last event; 0: no supervisor runs. */
json_int_t clv_last_event(const struct clv_project *project);

/* Prints events, an array. */
void clv_print_events(const json_t *events);
