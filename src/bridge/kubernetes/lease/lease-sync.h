/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/want.h"

#include <stdint.h>

struct clv_client;
struct clv_error;
struct json_t;

/* The leases that containers have, in the agent's ledger.  Which there should be follows
 * from kubelet's ids; this sees that they are there, once each, and that there are no
 * others.  The worker's thread only. */
struct clv_kube_lease_sync;

/* interrupt_fd ends what it waits for; it is borrowed. */
int clv_kube_lease_sync_new(const struct clv_kube_settings *settings, int interrupt_fd,
	struct clv_kube_lease_sync **ret, struct clv_error *err);
/* The leases stay.  Accepts NULL; returns NULL. */
struct clv_kube_lease_sync *clv_kube_lease_sync_free(struct clv_kube_lease_sync *sync);

/* The agent's client, connected; for other questions. */
int clv_kube_lease_sync_client(
	struct clv_kube_lease_sync *sync, struct clv_client **ret, struct clv_error *err);
const struct clv_kube_settings *clv_kube_lease_sync_settings(
	const struct clv_kube_lease_sync *sync);

/* Sees that the lease is there, and that none is that has one of its units.  With is_new
 * it is for a container that has nothing yet: one of that name is a former one's. */
int clv_kube_lease_sync_hold(struct clv_kube_lease_sync *sync,
	const struct clv_kube_want *want, bool is_new, struct clv_error *err);

/* What kubelet says that containers have, as it was at asked_ns: leases that miss are
 * made, those that nobody has are released.  Returns how many are not as they should be.
 */
int clv_kube_lease_sync_reconcile(struct clv_kube_lease_sync *sync,
	const struct clv_kube_want *wants, size_t n_wants, uint64_t asked_ns,
	struct clv_error *err);

/* The agent may have other leases than it had: it is asked at the next comparison. */
void clv_kube_lease_sync_doubt(struct clv_kube_lease_sync *sync);

/* Releases the lease of that name; one that is not there is none. */
int clv_kube_lease_sync_release(
	struct clv_kube_lease_sync *sync, const char *lease, struct clv_error *err);
