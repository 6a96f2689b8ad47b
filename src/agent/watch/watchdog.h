/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/watch/driver-processes.h"

struct clv_agent;
struct clv_error;

/* The reconciler: samples what drivers report of each process every few seconds, where a
 * driver reports anything, and compares it with the ledger; docs/agent.md ("watch") says
 * what it does about differences.  Loop thread only. */
struct clv_watchdog;

int clv_watchdog_new(
	struct clv_agent *agent, struct clv_watchdog **ret, struct clv_error *err);
struct clv_watchdog *clv_watchdog_free(struct clv_watchdog *watchdog);

/* Call when a process begins to use a device: samples at the next ticks. */
void clv_watchdog_sample_soon(struct clv_watchdog *watchdog);

/* Call once a second. */
void clv_watchdog_tick(struct clv_watchdog *watchdog);

/* Call once a second for each lease in use, with its account. */
struct clv_arbiter_sample;
void clv_watchdog_add_sample(
	struct clv_lease *lease, const struct clv_arbiter_sample *sample);

/* Call after a survey of the drivers: devices that are no longer found are lost. */
void clv_watchdog_surveyed(struct clv_watchdog *watchdog);

/* Borrowed. */
const struct clv_driver_processes *clv_watchdog_processes(
	const struct clv_watchdog *watchdog);
