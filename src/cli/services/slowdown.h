/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/services/planned.h"

/* Predicts how much slower each replica computes beside the others on its device than
 * alone, where all of them were measured, and fills in "slowdown" or "slowdown_why".
 * others: leases of the agent that are not of the project.  reports: a folder with a file
 * NAME.json of cleave profile for some of the services; NULL: none.  Returns 0, or an
 * exit code after printing the error. */
int clv_slowdown_predict(
	struct clv_planned *items, size_t n, const json_t *others, const char *reports);
