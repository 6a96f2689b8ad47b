/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clv_agent;
struct clv_error;
struct clv_request;
struct clv_lease_request;

/* Partitions that are created for one lease and destroyed when it ends (cleave run
 * --isolation hardware).  Their names are in the state file, so that they are destroyed
 * after a crash of the agent too.  Loop thread only. */
struct clv_ephemeral;

int clv_ephemeral_new(
	struct clv_agent *agent, struct clv_ephemeral **ret, struct clv_error *err);
struct clv_ephemeral *clv_ephemeral_free(struct clv_ephemeral *ephemeral);

/* Reads the recorded partitions.  Call once the state file is open. */
void clv_ephemeral_read(struct clv_ephemeral *ephemeral);

/* Finds or creates a partition with the requested memory and makes the request one for
 * all of it. 0, -EINPROGRESS while the HTTP request waits, or an error.  Called again
 * when the wait ends; uses the HTTP request's note and number as its state. */
int clv_ephemeral_get(struct clv_ephemeral *ephemeral, struct clv_request *http,
	struct clv_lease_request *wanted, struct clv_error *err);

/* Records a partition that was created for a lease, to be destroyed when no lease is on
 * it. turned_on: MIG was turned on for it, and is turned off with the last instance. */
void clv_ephemeral_add(struct clv_ephemeral *ephemeral, const char *name, bool turned_on);

/* Forgets what is recorded of a partition, or of all partitions of a device, so that they
 * are not destroyed. */
void clv_ephemeral_forget(struct clv_ephemeral *ephemeral, const char *name);

/* Whether the device has a recorded partition. */
bool clv_ephemeral_is_on(const struct clv_ephemeral *ephemeral, const char *device);

/* Call once a second: destroys partitions whose lease has ended. */
void clv_ephemeral_tick(struct clv_ephemeral *ephemeral);
