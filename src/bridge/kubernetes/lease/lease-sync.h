/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/desired.h"
#include "bridge/kubernetes/resource/taken.h"

#include <stdbool.h>
#include <stdint.h>

struct clv_client;
struct clv_error;
struct json_t;

/* Reconciles the leases in the agent's ledger with the ids that kubelet allocated: each
 * container has exactly the lease that follows from its ids, and no other lease remains.
 * The worker's thread only, except the two functions that list something. */
struct clv_kube_lease_sync;

/* An event on interrupt_fd, which is borrowed, ends pending calls to the agent. */
int clv_kube_lease_sync_new(const struct clv_kube_settings *settings, int interrupt_fd,
	struct clv_kube_lease_sync **ret, struct clv_error *err);
/* Leases are not released.  Accepts NULL; returns NULL. */
struct clv_kube_lease_sync *clv_kube_lease_sync_free(struct clv_kube_lease_sync *sync);

/* The connected client of the agent, for other calls.  Borrowed. */
int clv_kube_lease_sync_client(
	struct clv_kube_lease_sync *sync, struct clv_client **ret, struct clv_error *err);

/* Creates the lease unless it exists, and releases leases that have one of its units.
 * With is_new the container is new: an existing lease of that name belongs to an earlier
 * container and is replaced. */
int clv_kube_lease_sync_hold(struct clv_kube_lease_sync *sync,
	const struct clv_kube_desired *desired, bool is_new, struct clv_error *err);

/* What kubelet is to be told of a lease that is held: flags of enum clv_kube_way in
 * *ret_ways and, with CLV_KUBE_BY_MOUNTS, CDI's containerEdits in *ret_edits, which the
 * caller owns; NULL otherwise. */
int clv_kube_lease_sync_deliver(struct clv_kube_lease_sync *sync, const char *lease,
	unsigned *ret_ways, struct json_t **ret_edits, struct clv_error *err);

/* The leases that kubelet's list of containers needs. */
struct clv_kube_list {
	const struct clv_kube_desired *desired_leases; /* borrowed */
	size_t n;
	uint64_t asked_ns;         /* when the list was requested */
	uint64_t kubelet_since_ns; /* when kubelet was started, as far as is known */
	bool may_release;          /* leases that are not in the list */
};

/* Notes which leases' containers are in the list.  The agent is not asked. */
void clv_kube_lease_sync_note(
	struct clv_kube_lease_sync *sync, const struct clv_kube_list *list);

/* Creates missing leases and, with may_release, releases those of no container.  A lease
 * that is not in the list keeps its units: it is newer than the list, or that of an init
 * container.  Returns the number of leases that could not be reconciled. */
int clv_kube_lease_sync_reconcile(struct clv_kube_lease_sync *sync,
	const struct clv_kube_list *list, struct clv_error *err);

/* The agent's leases may have changed, as after its restart: the next reconciliation
 * reads them even if kubelet's list has not changed. */
void clv_kube_lease_sync_invalidate(struct clv_kube_lease_sync *sync);

/* Releases the lease of that name; 0 if there is none. */
int clv_kube_lease_sync_release(
	struct clv_kube_lease_sync *sync, const char *lease, struct clv_error *err);

/* The names of the leases whose containers kubelet has listed and does not list any more,
 * as keys of a new object: kubelet gives their ids to other containers, although the
 * leases stay for the grace period.  NULL: there is none.  Any thread. */
struct json_t *clv_kube_lease_sync_list_unlisted(struct clv_kube_lease_sync *sync);

/* Adds the ids of taken->resource that leases of containers have, as far as they are
 * known, and sorts them.  The loop's thread. */
void clv_kube_lease_sync_list_taken(
	struct clv_kube_lease_sync *sync, struct clv_kube_taken *taken);
