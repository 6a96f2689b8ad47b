/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/watch/sightings.h"

struct clv_agent;
struct clv_error;

/* The reconciler: compares what drivers report that each process holds and does with the
 * ledger.  It samples them every few seconds, where a driver reports anything at all;
 * docs/agent.md ("watch") says what it does about what it finds.  Loop thread only. */
struct clv_watchdog;

int clv_watchdog_new(
	struct clv_agent *agent, struct clv_watchdog **ret, struct clv_error *err);
struct clv_watchdog *clv_watchdog_free(struct clv_watchdog *watchdog);

/* A process has just begun to use a device: what it takes is looked at sooner. */
void clv_watchdog_hurry(struct clv_watchdog *watchdog);

/* Once a second. */
void clv_watchdog_tick(struct clv_watchdog *watchdog);

/* A lease's account of this second. */
struct clv_arbiter_sample;
void clv_watchdog_note(struct clv_lease *lease, const struct clv_arbiter_sample *sample);

/* The drivers have been surveyed: what they do not show any more is lost. */
void clv_watchdog_surveyed(struct clv_watchdog *watchdog);

const struct clv_sightings *clv_watchdog_sightings(const struct clv_watchdog *watchdog);
