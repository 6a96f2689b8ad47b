/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clv_agent;
struct clv_error;
struct clv_request;
struct clv_lease_request;

/* Partitions that are created for one lease and destroyed when it ends (cleave run
 * --isolation hardware).  Their names are in the state file, so that an agent that starts
 * after a crash destroys them too.  Loop thread only. */
struct clv_ephemeral;

int clv_ephemeral_new(
	struct clv_agent *agent, struct clv_ephemeral **ret, struct clv_error *err);
struct clv_ephemeral *clv_ephemeral_free(struct clv_ephemeral *ephemeral);

/* Finds or makes a partition for the request and puts its name there.  0, or -EINPROGRESS
 * when the HTTP request waits for it, or what went wrong.  Uses the HTTP request's note
 * and number. */
int clv_ephemeral_get(struct clv_ephemeral *ephemeral, struct clv_request *http,
	struct clv_lease_request *wanted, struct clv_error *err);

/* Records a partition that was created: it is destroyed when no lease is on it.
 * turned_on: MIG was off before, and is turned off again with the last instance. */
void clv_ephemeral_add(struct clv_ephemeral *ephemeral, const char *name, bool turned_on);

/* Once a second: destroys those that no lease is on any more. */
void clv_ephemeral_tick(struct clv_ephemeral *ephemeral);
