/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/error.h"
#include "bridge/kubernetes/lease/lease-sync.h"
#include "bridge/kubernetes/resource/inventory.h"
#include "bridge/kubernetes/resource/slices.h"

#include <stdbool.h>
#include <stddef.h>

/* Claims that pods of this node have, made into leases and taken back, and the slices
 * that say what can be claimed.  A claim's leases are named after its uid, so what was
 * prepared is known from the ledger, whoever asks.  The worker's thread only. */
struct clv_kube_claims;

int clv_kube_claims_new(const struct clv_kube_settings *settings,
	struct clv_kube_claims **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_claims *clv_kube_claims_free(struct clv_kube_claims *claims);

struct clv_kube_prepared {
	char request[128];
	char pool[CLV_KUBE_PATH_MAX];
	char device[CLV_KUBE_NAME_MAX];
	char cdi[160];
	char share_id[64];
};

struct clv_kube_claim {
	char *namespace, *uid, *name;
	struct clv_kube_prepared *prepared;
	size_t n;
	int r;
	struct clv_error err;
};
void clv_kube_claim_clear(struct clv_kube_claim *claim);

/* Both may be done again and again, and go on where they were broken off. */
void clv_kube_claims_prepare(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, struct clv_kube_claim *claim);
void clv_kube_claims_unprepare(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, struct clv_kube_claim *claim);

/* Brings the API server's slices of this node up to date.  ret_all: the places that there
 * are, also those that are not published since they are not healthy; set where the node
 * could be looked at, whatever is returned. */
int clv_kube_claims_publish(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, const struct clv_kube_inventory *inventory,
	struct clv_kube_places *ret_all, struct clv_error *err);
