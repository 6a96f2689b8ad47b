/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clv_agent;
struct clv_error;
struct clv_request;
struct clv_lease_request;

/* Partitions that are made for one lease and go with it (cleave run --isolation
 * hardware).  Their names are in the state file, so that none outlives its lease by the
 * death of an agent.  Loop thread only. */
struct clv_made;

int clv_made_new(struct clv_agent *agent, struct clv_made **ret, struct clv_error *err);
struct clv_made *clv_made_free(struct clv_made *made);

/* Finds or makes a partition for the request and puts its name there.  0, or -EINPROGRESS
 * when the HTTP request waits for it, or what went wrong.  Uses the HTTP request's note
 * and number. */
int clv_made_get(struct clv_made *made, struct clv_request *http,
	struct clv_lease_request *wanted, struct clv_error *err);

/* One was made: from here on it goes when no lease is on it.  turned_on: MIG was off
 * before, and is turned off again with the last instance. */
void clv_made_add(struct clv_made *made, const char *name, bool turned_on);

/* Once a second: destroys those that no lease is on any more. */
void clv_made_tick(struct clv_made *made);
