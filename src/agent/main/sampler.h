/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_error;

/* Once a second: samples every lease, turns growing counters into events, looks after
 * processes without a connection and after a state file that could not be written. */
struct clv_sampler;

int clv_sampler_new(
	struct clv_agent *agent, struct clv_sampler **ret, struct clv_error *err);
struct clv_sampler *clv_sampler_free(struct clv_sampler *sampler);

/* Stores the accounts, so that the next agent goes on from them. */
void clv_sampler_save(struct clv_agent *agent);
