/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/lease/claim-status.h"
#include "bridge/kubernetes/resource/desired.h"
#include "bridge/kubernetes/resource/slices.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* What the files of struct clv_kube_claims share.  The worker's thread only. */

struct clv_client;
struct clv_error;
struct clv_kube_claim;
struct clv_kube_cluster;
struct clv_kube_lease_sync;

struct clv_kube_claims {
	struct clv_kube_settings settings;
	struct clv_kube_cluster *cluster;
	struct clv_kube_places places;
	struct clv_kube_server server;
	struct clv_kube_claim_status status;
	bool knows_server;
	uint64_t swept_ns; /* 0: never */
};

static inline const char *clv_kube_claims_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* --- claims.c --- */

/* The name of the claim's lease number i.  -EINVAL: the claim has no valid uid. */
int clv_kube_claims_name_lease(const struct clv_kube_claim *claim, size_t i,
	char ret[CLV_KUBE_LEASE_MAX], struct clv_error *err);
/* Asks the API server for the claim; the caller owns *ret.  -ENOENT: there is none with
 * its uid; -EINVAL: it has no valid name; else the server did not answer. */
int clv_kube_claims_fetch(struct clv_kube_claims *claims,
	const struct clv_kube_claim *claim, json_t **ret, struct clv_error *err);
/* The allocated devices of this driver and node. */
size_t clv_kube_claims_count_ours(
	const struct clv_kube_claims *claims, const json_t *object);

/* --- claims-publish.c --- */

/* The place of this name; borrowed until the node is described again.  -ENODEV. */
int clv_kube_claims_find_place(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, const char *name,
	const struct clv_kube_place **ret, struct clv_error *err);

/* --- claims-release.c --- */

/* Records the claim in the undo log, before it gets the first of its n leases. */
int clv_kube_claims_record(struct clv_kube_claims *claims,
	const struct clv_kube_claim *claim, size_t n, struct clv_error *err);
/* Releases claims that kubelet forgot. */
void clv_kube_claims_sweep(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, struct clv_client *client);
