/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct clv_agent;
struct clv_caller;
struct clv_error;
struct clv_lease;

/* Revisions of the list of leases, so that a client that has the list may ask for what
 * has changed since.  A lease has the revision at which its answer was last seen to
 * differ; it is compared when the list is read, by a hash of what the answer is made of,
 * so that no change can be missed.  Fields that only follow the clock do not count
 * (clv_field.drifts). Loop thread only. */
struct clv_lease_changes;

/* How many leases that have ended are known: a client that has missed more gets the whole
 * list. */
#define CLV_CHANGES_ENDED 1024u
#define CLV_REVISION_MAX 40

/* NULL: no memory. */
struct clv_lease_changes *clv_lease_changes_new(void);
struct clv_lease_changes *clv_lease_changes_free(struct clv_lease_changes *changes);

/* Subscriber of the notice of a lease's end. */
void clv_lease_changes_ended(
	struct clv_lease_changes *changes, const struct clv_lease *lease);

/* The revision now, "INSTANCE-NUMBER"; the instance is that of the agent's process. */
void clv_lease_changes_revision(
	const struct clv_lease_changes *changes, char ret[CLV_REVISION_MAX]);

/* Reads the revision of an earlier answer.  *ret 0: it is of an earlier agent or too old,
 * so that the whole list is due. 0 or -EINVAL. */
int clv_lease_changes_since(const struct clv_lease_changes *changes, const char *text,
	uint64_t *ret, struct clv_error *err);

/* Compares the lease with what was last seen of it; returns its revision. */
uint64_t clv_lease_changes_see(
	struct clv_lease_changes *changes, struct clv_lease *lease);

/* The ids of leases that ended after a revision and that the caller may see. */
json_t *clv_lease_changes_list_ended(const struct clv_lease_changes *changes,
	uint64_t since, const struct clv_caller *caller);
