/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares resource claims as leases. */
#include "bridge/kubernetes/lease/claims.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "bridge/kubernetes/apiserver/cluster.h"
#include "bridge/kubernetes/lease/admin-access.h"
#include "bridge/kubernetes/lease/claim-config.h"
#include "bridge/kubernetes/lease/claim-members.h"
#include "bridge/kubernetes/lease/claim-status.h"
#include "bridge/kubernetes/lease/claims-internal.h"
#include "bridge/kubernetes/lease/ephemeral-partitions.h"
#include "bridge/kubernetes/lease/modes.h"
#include "bridge/kubernetes/lease/refusal.h"
#include "bridge/kubernetes/lease/spec.h"
#include "bridge/kubernetes/resource/slices.h"

#include <cleave.h>
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "dra-"

int clv_kube_claims_new(const struct clv_kube_settings *settings,
	struct clv_kube_claims **ret, struct clv_error *err)
{
	struct clv_kube_claims *claims = calloc(1, sizeof(*claims));
	int r;

	if (!claims)
		return clv_error_errno(err, ENOMEM, "cannot start");
	claims->settings = *settings;
	r = clv_kube_cluster_new(settings, &claims->cluster, err);
	if (r < 0) {
		clv_kube_claims_free(claims);
		return r;
	}
	*ret = claims;
	return 0;
}

struct clv_kube_claims *clv_kube_claims_free(struct clv_kube_claims *claims)
{
	if (!claims)
		return NULL;

	clv_kube_cluster_free(claims->cluster);
	clv_kube_places_clear(&claims->places);
	free(claims);
	return NULL;
}

void clv_kube_claim_clear(struct clv_kube_claim *claim)
{
	free(claim->namespace);
	free(claim->uid);
	free(claim->name);
	free(claim->prepared);
	*claim = (struct clv_kube_claim){};
}

/* --- Leases of a claim --- */

int clv_kube_claims_name_lease(const struct clv_kube_claim *claim, size_t i,
	char ret[CLV_KUBE_LEASE_MAX], struct clv_error *err)
{
	int n = snprintf(ret, CLV_KUBE_LEASE_MAX, PREFIX "%s-%zu", claim->uid, i);

	if (n < 0 || n >= CLV_KUBE_LEASE_MAX || claim->uid[0] == '\0')
		return clv_error_set(
			err, -EINVAL, "'%.80s' is not the uid of a claim", claim->uid);
	return 0;
}

/* Creates the partition, and then the lease on it. */
static int make_and_hold(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	const struct clv_kube_place *place, const struct clv_kube_desired *desired,
	struct clv_error *err)
{
	struct clv_client *client;
	int r = clv_kube_lease_sync_client(sync, &client, err);

	if (r >= 0)
		r = clv_kube_ephemeral_create(&claims->settings, client, place->device,
			place->profile, place->start, err);
	return r < 0 ? r : clv_kube_lease_sync_hold(sync, desired, false, err);
}

static int set_mode(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	const struct clv_kube_place *place, struct clv_error *err)
{
	struct clv_client *client;
	int r = clv_kube_lease_sync_client(sync, &client, err);

	return r < 0 ? r
		     : clv_kube_mode_set(&claims->settings, client, place->device,
			       place->profile, err);
}

/* --- What gets one lease --- */

/* A claim may have devices of several drivers and nodes. */
static bool is_ours(const struct clv_kube_claims *claims, const json_t *result)
{
	return strcmp(clv_kube_claims_text(result, "driver"), claims->settings.driver) ==
		       0 &&
	       strcmp(clv_kube_claims_text(result, "pool"), claims->settings.node) == 0;
}

static bool may_join(const struct clv_kube_members *members, const json_t *result)
{
	return members->n == 0 ||
	       strcmp(clv_kube_claims_text(members->results[0], "request"),
		       clv_kube_claims_text(result, "request")) == 0;
}

/* Takes the first result that is not taken yet, and those that join it. */
static int take_members(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	const json_t *results, const json_t *config, bool is_taken[CLV_KUBE_RESULTS_MAX],
	struct clv_kube_members *ret, struct clv_error *err)
{
	const char *driver = claims->settings.driver;
	const json_t *result;
	size_t i;

	*ret = (struct clv_kube_members){};
	json_array_foreach (results, i, result) {
		const struct clv_kube_place *place;
		int r;

		if (is_taken[i] || !is_ours(claims, result) || !may_join(ret, result))
			continue;
		r = clv_kube_claims_find_place(claims, sync,
			clv_kube_claims_text(result, "device"), &place, err);
		if (r >= 0 && ret->n == 0)
			r = clv_kube_claim_config_read(config, driver,
				clv_kube_claims_text(result, "request"), &ret->options,
				err);
		if (r < 0)
			return r;
		is_taken[i] = clv_kube_members_join(ret, result, place);
	}
	return 0;
}

static int hold(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	const struct clv_kube_members *members, struct clv_kube_desired *desired,
	struct clv_error *err)
{
	const struct clv_kube_place *first = &members->places[0];
	char devices[CLV_KUBE_DEVICES_MAX];
	int r = clv_kube_members_name(members, devices, err);

	for (size_t i = 0; r >= 0 && i < members->n; i++) {
		if (members->places[i].is_mode)
			r = set_mode(claims, sync, &members->places[i], err);
	}
	if (r < 0)
		return r;
	desired->device = devices;
	r = clv_kube_lease_sync_hold(sync, desired, false, err);
	if (r == -ENODEV && first->is_made)
		r = make_and_hold(claims, sync, first, desired, err);
	desired->device = "";
	return r;
}

static int hold_lease(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	const struct clv_kube_members *members, const char *name, struct clv_error *err)
{
	struct clv_kube_amount amount = {.share_ppm = CLV_PPM};
	struct clv_kube_desired desired = {.options = &members->options};
	int r = 0;

	/* Several devices are whole. */
	if (members->n == 1)
		r = clv_kube_members_amount(
			members->results[0], &members->places[0], &amount, err);
	if (r < 0)
		return r;
	snprintf(desired.lease, sizeof(desired.lease), "%s", name);
	desired.share_ppm = amount.share_ppm;
	desired.memory_bytes = amount.memory_bytes;
	return hold(claims, sync, members, &desired, err);
}

static int open_result(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	const struct clv_kube_place *place, const char *name,
	char ret_cdi[CLV_KUBE_NAME_MAX + 32], struct clv_error *err)
{
	struct clv_client *client;
	int r = clv_kube_lease_sync_client(sync, &client, err);

	return r < 0 ? r
		     : clv_kube_admin_access(&claims->settings, client, place->device,
			       name, ret_cdi, err);
}

static int record_device(struct clv_kube_claim *claim, const json_t *result,
	const char *device, const char *cdi, struct clv_error *err)
{
	struct clv_kube_prepared *prepared = CLV_APPEND(claim->prepared, claim->n);
	const char *request = clv_kube_claims_text(result, "request");

	if (!prepared)
		return clv_error_errno(err, ENOMEM, "cannot record a device");
	/* "a/b" is the alternative b of the request a.  Containers refer to a, and
	 * kubelet compares the whole name. */
	snprintf(prepared->request, sizeof(prepared->request), "%.*s",
		(int)strcspn(request, "/"), request);
	snprintf(prepared->pool, sizeof(prepared->pool), "%s",
		clv_kube_claims_text(result, "pool"));
	snprintf(prepared->device, sizeof(prepared->device), "%s", device);
	snprintf(prepared->share_id, sizeof(prepared->share_id), "%s",
		clv_kube_claims_text(result, "shareID"));
	snprintf(prepared->cdi, sizeof(prepared->cdi), "%s", cdi);
	return 0;
}

/* The CDI device is that of the lease, so it is reported with the lease's first device
 * only: a container gets all devices of a request. */
static int prepare_members(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, struct clv_kube_claim *claim, size_t number,
	const struct clv_kube_members *members, struct clv_error *err)
{
	char name[CLV_KUBE_LEASE_MAX], cdi[CLV_KUBE_NAME_MAX + 32];
	int r = clv_kube_claims_name_lease(claim, number, name, err);

	if (r < 0)
		return r;
	clv_kube_spec_name(name, cdi);
	if (members->is_admin)
		r = open_result(claims, sync, &members->places[0], name, cdi, err);
	else
		r = hold_lease(claims, sync, members, name, err);
	for (size_t i = 0; r >= 0 && i < members->n; i++)
		r = record_device(claim, members->results[i], members->places[i].name,
			i == 0 ? cdi : "", err);
	return r;
}

static int prepare_results(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, struct clv_kube_claim *claim,
	const json_t *results, const json_t *config, struct clv_error *err)
{
	bool is_taken[CLV_KUBE_RESULTS_MAX] = {};
	struct clv_kube_members members;

	if (json_array_size(results) > CLV_KUBE_RESULTS_MAX)
		return clv_error_set(err, -E2BIG,
			"the claim has more than %d devices, which Kubernetes never "
			"allocates",
			CLV_KUBE_RESULTS_MAX);
	for (size_t number = 0;; number++) {
		int r = take_members(
			claims, sync, results, config, is_taken, &members, err);

		if (r < 0 || members.n == 0)
			return r;
		r = prepare_members(claims, sync, claim, number, &members, err);
		if (r < 0)
			return r;
	}
}

/* Whether the name can be a component of a path of the API server. */
static bool is_name(const char *text)
{
	for (const char *p = text; *p != '\0'; p++) {
		if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) &&
			*p != '-' && *p != '.')
			return false;
	}
	return text[0] != '\0' && strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

int clv_kube_claims_fetch(struct clv_kube_claims *claims,
	const struct clv_kube_claim *claim, json_t **ret, struct clv_error *err)
{
	char path[1024];
	json_t *object = NULL;
	int r;

	if (!is_name(claim->namespace) || !is_name(claim->name))
		return clv_error_set(err, -EINVAL,
			"'%.80s/%.80s' is not the name of a claim", claim->namespace,
			claim->name);
	snprintf(path, sizeof(path),
		"/apis/resource.k8s.io/%s/namespaces/%.300s/resourceclaims/%.300s",
		claims->settings.version, claim->namespace, claim->name);
	r = clv_kube_cluster_request(claims->cluster, "GET", path, NULL, &object, err);
	if (r < 0)
		return r;
	if (strcmp(clv_kube_claims_text(json_object_get(object, "metadata"), "uid"),
		    claim->uid) != 0) {
		json_decref(object);
		return clv_error_set(err, -ENOENT,
			"the claim %s/%s was replaced by another one", claim->namespace,
			claim->name);
	}
	*ret = object;
	return 0;
}

/* "results" or "config" of the claim's allocation. */
static const json_t *allocated(const json_t *object, const char *key)
{
	const json_t *status = json_object_get(object, "status");
	const json_t *allocation = json_object_get(status, "allocation");

	return json_object_get(json_object_get(allocation, "devices"), key);
}

size_t clv_kube_claims_count_ours(
	const struct clv_kube_claims *claims, const json_t *object)
{
	const json_t *result;
	size_t i, n = 0;

	json_array_foreach (allocated(object, "results"), i, result)
		n += is_ours(claims, result);
	return n;
}

static int prepare_all(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	struct clv_kube_claim *claim, const json_t *object, struct clv_error *err)
{
	const json_t *results = allocated(object, "results");
	int r = 0;

	if (!json_is_array(results))
		r = clv_error_set(err, -EINVAL, "the claim %s/%s is not allocated",
			claim->namespace, claim->name);
	if (r >= 0)
		r = clv_kube_claims_record(
			claims, claim, clv_kube_claims_count_ours(claims, object), err);
	if (r >= 0)
		r = prepare_results(
			claims, sync, claim, results, allocated(object, "config"), err);
	return r;
}

static int prepare(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	struct clv_kube_claim *claim, struct clv_error *err)
{
	json_t *object = NULL;
	int r = clv_kube_claims_fetch(claims, claim, &object, err);

	if (r < 0)
		return r;
	r = prepare_all(claims, sync, claim, object, err);
	clv_kube_claim_status_show(&claims->status, claims->cluster, &claims->settings,
		object, r < 0 ? err->msg : NULL);
	json_decref(object);
	return r;
}

void clv_kube_claims_prepare(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, struct clv_kube_claim *claim)
{
	claim->r = prepare(claims, sync, claim, &claim->err);
}
