/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_error;

/* The one-second tick: samples the leases, emits events for counters that have grown,
 * checks processes without a connection, and runs the periodic work of other rooms. */
struct clv_sampler;

int clv_sampler_new(
	struct clv_agent *agent, struct clv_sampler **ret, struct clv_error *err);
struct clv_sampler *clv_sampler_free(struct clv_sampler *sampler);

/* Stores the totals of leases and the debts, from which the next agent continues. */
void clv_sampler_save(struct clv_agent *agent);
