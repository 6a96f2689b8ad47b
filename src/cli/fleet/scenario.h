/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "core/fleet/fleet.h"

/* What the verbs about fleets that are only described have in common. */

struct clv_place_policy;

#define CLV_SCENARIO_POLICIES_MAX 16

/* The policies that the user named, comma between them, or usual.  How many, or an exit
 * code below 0 after having said why. */
int clv_scenario_policies(const char *text, const char *usual,
	const struct clv_place_policy *ret[CLV_SCENARIO_POLICIES_MAX]);

/* 0, or an exit code after having said why. */
int clv_scenario_read_fleet(const char *path, struct clv_fleet **ret);

/* A bar on stderr, where that is a terminal; part is 0..1, or below 0 to take it away. */
void clv_scenario_progress(void *userdata, double part);

CLV_DEFINE_CLEANUP(struct clv_fleet *, clv_fleet_free)
#define _cleanup_fleet_ CLV_CLEANUP(clv_fleet_freep)
