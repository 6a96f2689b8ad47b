/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/error.h"
#include "bridge/kubernetes/lease/lease-sync.h"
#include "bridge/kubernetes/resource/inventory.h"
#include "bridge/kubernetes/resource/slices.h"

#include <stdbool.h>
#include <stddef.h>

/* Resource claims of this node's pods: prepares them as leases, releases them, and
 * publishes the slices of what can be claimed.  A claim's leases are named after its uid,
 * so the agent's ledger shows what was prepared.  The worker's thread only. */
struct clv_kube_claims;

int clv_kube_claims_new(const struct clv_kube_settings *settings,
	struct clv_kube_claims **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_claims *clv_kube_claims_free(struct clv_kube_claims *claims);

/* A device of a prepared claim, as kubelet's answer needs it. */
struct clv_kube_prepared {
	char request[128];
	char pool[CLV_KUBE_PATH_MAX];
	char device[CLV_KUBE_NAME_MAX];
	char cdi[CLV_KUBE_NAME_MAX + 32]; /* "": none */
	char share_id[64];
};

struct clv_kube_claim {
	char *namespace, *uid, *name;       /* owned */
	struct clv_kube_prepared *prepared; /* owned */
	size_t n;
	int r;                /* the result: 0 or a negative errno */
	struct clv_error err; /* if r < 0 */
};
void clv_kube_claim_clear(struct clv_kube_claim *claim);

/* Both store their result in the claim.  They are idempotent, and continue after an
 * interruption. */
void clv_kube_claims_prepare(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, struct clv_kube_claim *claim);
void clv_kube_claims_unprepare(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, struct clv_kube_claim *claim);

/* Brings the API server's slices of this node up to date, and releases what is left over.
 * ret_all gets all places of the node, also those that are not published because they are
 * unhealthy; it is set if the node could be read, even if the call fails then. */
int clv_kube_claims_publish(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, const struct clv_kube_inventory *inventory,
	struct clv_kube_places *ret_all, struct clv_error *err);
