/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_error;

/* Asks the drivers again after an answer that lacks devices: after a second, then after
 * twice as long each time, up to a minute, until nothing is missing.  Without it the
 * devices of a driver that failed at the start would be missing until a request for the
 * node, or a restart.  Loop thread only. */
struct clv_resurvey;

int clv_resurvey_new(
	struct clv_agent *agent, struct clv_resurvey **ret, struct clv_error *err);
struct clv_resurvey *clv_resurvey_free(struct clv_resurvey *resurvey);

/* Call when a survey was answered. */
void clv_resurvey_answered(struct clv_resurvey *resurvey);
