/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/services/project/project.h"
#include "cli/frame/opt.h"
#include "cli/services/planned.h"

/* Where the replicas of a project would be, asked from the agent, and how much slower
 * they would be beside the others on their devices. */

/* Fills the placements.  items are in the order in which services start.  reports: as
 * clv_slowdown_predict().  Returns 0, or an exit code after printing the error:
 * CLV_EXIT_UNREACHABLE if no agent answers, and then placements are empty. */
int clv_placement_find(const struct clv_common *common, const struct clv_project *project,
	const char *reports, struct clv_planned *items, size_t n);
