/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares and unprepares resource claims as leases, records them in the undo log, and
 * releases claims that kubelet forgot. */
#include "bridge/kubernetes/lease/claims.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "bridge/kubernetes/apiserver/cluster.h"
#include "bridge/kubernetes/apiserver/publish.h"
#include "bridge/kubernetes/lease/admin-access.h"
#include "bridge/kubernetes/lease/claim-config.h"
#include "bridge/kubernetes/lease/claim-members.h"
#include "bridge/kubernetes/lease/claim-status.h"
#include "bridge/kubernetes/lease/ephemeral-partitions.h"
#include "bridge/kubernetes/lease/modes.h"
#include "bridge/kubernetes/lease/spec.h"
#include "bridge/kubernetes/lease/undo-log.h"
#include "bridge/kubernetes/resource/slices.h"

#include <cleave.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "dra-"
#define NOTES "claims" /* folder of the undo log; a file for each uid */
#define LEASES_MAX 64u /* of a claim: Kubernetes allocates 32 devices at most */

struct clv_kube_claims {
	struct clv_kube_settings settings;
	struct clv_kube_cluster *cluster;
	struct clv_kube_places places;
	struct clv_kube_server server;
	struct clv_kube_claim_status status;
	bool knows_server;
	uint64_t swept_ns; /* 0: never */
};

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

/* --- Places of the node --- */

/* Finds the places of all devices, also of unhealthy ones. */
static int find_all(struct clv_kube_claims *claims, const json_t *node,
	const struct clv_kube_inventory *inventory, struct clv_kube_places *ret,
	struct clv_error *err)
{
	struct clv_kube_inventory well = {.n = inventory->n};
	json_t *specs = NULL;
	int r;

	well.items = calloc(well.n + 1, sizeof(*well.items));
	if (!well.items)
		return clv_error_errno(err, ENOMEM, "cannot describe the node");
	memcpy(well.items, inventory->items, well.n * sizeof(*well.items));
	for (size_t i = 0; i < well.n; i++)
		well.items[i].is_healthy = true;
	r = clv_kube_slices_make(
		node, &well, &claims->settings, claims->server, ret, &specs, err);
	json_decref(specs);
	clv_kube_inventory_clear(&well);
	return r;
}

/* ret_all may be NULL. */
static int describe(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	const struct clv_kube_inventory *inventory, struct clv_kube_places *ret_all,
	json_t **ret_specs, struct clv_error *err)
{
	struct clv_client_error failure;
	struct clv_client *client;
	struct clv_kube_places places;
	json_t *node = NULL;
	int r = clv_kube_lease_sync_client(sync, &client, err);

	if (r < 0)
		return r;
	r = clv_client_node(client, &node, &failure);
	if (r < 0)
		return clv_error_set(err, r, "%s", failure.msg);
	r = clv_kube_slices_make(node, inventory, &claims->settings, claims->server,
		&places, ret_specs, err);
	if (r >= 0 && ret_all)
		find_all(claims, node, inventory, ret_all, err);
	json_decref(node);
	if (r < 0)
		return r;
	clv_kube_places_clear(&claims->places);
	claims->places = places;
	return 0;
}

static int find_place(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	const char *name, const struct clv_kube_place **ret, struct clv_error *err)
{
	struct clv_kube_inventory inventory = {};
	struct clv_client *client;
	json_t *specs = NULL;
	int r = 0;

	*ret = clv_kube_places_find(&claims->places, name);
	if (*ret)
		return 0;
	/* The cache is empty after a start and stale after a change of the node. */
	r = clv_kube_lease_sync_client(sync, &client, err);
	if (r >= 0)
		r = clv_kube_inventory_fetch(client, &inventory, err);
	if (r >= 0)
		r = describe(claims, sync, &inventory, NULL, &specs, err);
	json_decref(specs);
	clv_kube_inventory_clear(&inventory);
	if (r < 0)
		return r;
	*ret = clv_kube_places_find(&claims->places, name);
	return *ret ? 0
		    : clv_error_set(
			      err, -ENODEV, "this node has no device %.80s now", name);
}

/* --- Leases of a claim --- */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int name_lease(const struct clv_kube_claim *claim, size_t i,
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
	const struct clv_kube_place *place, const struct clv_kube_lease_want *want,
	struct clv_error *err)
{
	struct clv_client *client;
	int r = clv_kube_lease_sync_client(sync, &client, err);

	if (r >= 0)
		r = clv_kube_ephemeral_create(&claims->settings, client, place->device,
			place->profile, place->start, err);
	return r < 0 ? r : clv_kube_lease_sync_hold(sync, want, false, err);
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
	return strcmp(text_of(result, "driver"), claims->settings.driver) == 0 &&
	       strcmp(text_of(result, "pool"), claims->settings.node) == 0;
}

static bool may_join(const struct clv_kube_members *members, const json_t *result)
{
	return members->n == 0 || strcmp(text_of(members->results[0], "request"),
					  text_of(result, "request")) == 0;
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
		r = find_place(claims, sync, text_of(result, "device"), &place, err);
		if (r >= 0 && ret->n == 0)
			r = clv_kube_claim_config_read(config, driver,
				text_of(result, "request"), &ret->options, err);
		if (r < 0)
			return r;
		is_taken[i] = clv_kube_members_join(ret, result, place);
	}
	return 0;
}

static int hold(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	const struct clv_kube_members *members, struct clv_kube_lease_want *want,
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
	want->device = devices;
	r = clv_kube_lease_sync_hold(sync, want, false, err);
	if (r == -ENODEV && first->is_made)
		r = make_and_hold(claims, sync, first, want, err);
	want->device = "";
	return r;
}

static int hold_lease(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	const struct clv_kube_members *members, const char *name, struct clv_error *err)
{
	struct clv_kube_amount amount = {.share_ppm = CLV_PPM};
	struct clv_kube_lease_want want = {.options = &members->options};
	int r = 0;

	/* Several devices are whole. */
	if (members->n == 1)
		r = clv_kube_members_amount(
			members->results[0], &members->places[0], &amount, err);
	if (r < 0)
		return r;
	snprintf(want.lease, sizeof(want.lease), "%s", name);
	want.share_ppm = amount.share_ppm;
	want.memory_bytes = amount.memory_bytes;
	return hold(claims, sync, members, &want, err);
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
	const char *request = text_of(result, "request");

	if (!prepared)
		return clv_error_errno(err, ENOMEM, "cannot record a device");
	/* "a/b" is the alternative b of the request a.  Containers refer to a, and
	 * kubelet compares the whole name. */
	snprintf(prepared->request, sizeof(prepared->request), "%.*s",
		(int)strcspn(request, "/"), request);
	snprintf(prepared->pool, sizeof(prepared->pool), "%s", text_of(result, "pool"));
	snprintf(prepared->device, sizeof(prepared->device), "%s", device);
	snprintf(prepared->share_id, sizeof(prepared->share_id), "%s",
		text_of(result, "shareID"));
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
	int r = name_lease(claim, number, name, err);

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

static int fetch(struct clv_kube_claims *claims, const struct clv_kube_claim *claim,
	json_t **ret, struct clv_error *err)
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
	if (strcmp(text_of(json_object_get(object, "metadata"), "uid"), claim->uid) !=
		0) {
		json_decref(object);
		return clv_error_set(err, -ENOENT,
			"the claim %s/%s was replaced by another one", claim->namespace,
			claim->name);
	}
	*ret = object;
	return 0;
}

/* An entry of the undo log: the claim, the number of its leases, and whether the last
 * check found that the claim no longer exists. */
struct note {
	char namespace[CLV_KUBE_UNDO_MAX], name[CLV_KUBE_UNDO_MAX];
	unsigned int n;
	bool is_gone;
};

static int write_note(struct clv_kube_claims *claims, const struct clv_kube_claim *claim,
	unsigned int n, bool is_gone, struct clv_error *err)
{
	char text[CLV_KUBE_UNDO_MAX];

	snprintf(text, sizeof(text), "%.300s/%.300s %u%s", claim->namespace, claim->name,
		n, is_gone ? " gone" : "");
	return clv_kube_undo_write(&claims->settings, NOTES, claim->uid, text, err);
}

static bool parse_note(const char *text, struct note *ret)
{
	char gone[8] = "";

	*ret = (struct note){};
	if (sscanf(text, "%639[^/]/%639s %u %7s", ret->namespace, ret->name, &ret->n,
		    gone) < 3)
		return false;
	ret->is_gone = strcmp(gone, "gone") == 0;
	return true;
}

/* Records the claim before it gets its first lease. */
static int record_claim(struct clv_kube_claims *claims,
	const struct clv_kube_claim *claim, size_t n, struct clv_error *err)
{
	char lease[CLV_KUBE_LEASE_MAX];
	int r = name_lease(claim, 0, lease, err);

	if (r < 0 || clv_kube_undo_exists(&claims->settings, NOTES, claim->uid))
		return r;
	return write_note(claims, claim, (unsigned int)n, false, err);
}

/* "results" or "config" of the claim's allocation. */
static const json_t *allocated(const json_t *object, const char *key)
{
	const json_t *status = json_object_get(object, "status");
	const json_t *allocation = json_object_get(status, "allocation");

	return json_object_get(json_object_get(allocation, "devices"), key);
}

static size_t count_ours(const struct clv_kube_claims *claims, const json_t *object)
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
		r = record_claim(claims, claim, count_ours(claims, object), err);
	if (r >= 0)
		r = prepare_results(
			claims, sync, claim, results, allocated(object, "config"), err);
	return r;
}

static int prepare(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	struct clv_kube_claim *claim, struct clv_error *err)
{
	json_t *object = NULL;
	int r = fetch(claims, claim, &object, err);

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

/* --- Release --- */

/* The number of the claim's leases: from the undo log, because a lease in the middle may
 * have been released by another client; without an entry, up to the first missing one. */
static int count_leases(struct clv_kube_claims *claims, struct clv_client *client,
	const struct clv_kube_claim *claim, size_t *ret, struct clv_error *err)
{
	_cleanup_free_ char *text =
		clv_kube_undo_read(&claims->settings, NOTES, claim->uid);
	struct clv_client_error failure;
	char lease[CLV_KUBE_LEASE_MAX];
	struct note note = {};
	int r = 0;

	if (text && parse_note(text, &note) && note.n <= LEASES_MAX) {
		*ret = note.n;
		return name_lease(claim, 0, lease, err);
	}
	for (*ret = 0; *ret < LEASES_MAX; ++*ret) {
		json_t *object = NULL;

		r = name_lease(claim, *ret, lease, err);
		if (r < 0)
			return r;
		r = clv_client_lease(client, lease, &object, &failure);
		json_decref(object);
		if (r < 0 && strcmp(failure.code, "not_found") == 0)
			return 0;
		if (r < 0)
			return clv_error_set(err, r, "%s", failure.msg);
	}
	return 0;
}

/* Destroys what was created of the device for the claim, and restores its mode. */
static int release_device(struct clv_kube_claims *claims, struct clv_client *client,
	const char *device, struct clv_error *err)
{
	char whole[80];
	int r = strchr(device, '/') ? clv_kube_ephemeral_destroy(
					      &claims->settings, client, device, err)
				    : 0;

	snprintf(whole, sizeof(whole), "%.*s", (int)strcspn(device, "/"), device);
	if (r >= 0 && whole[0] != '\0')
		clv_kube_mode_restore(&claims->settings, client, whole);
	return r;
}

static int release_lease(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	struct clv_client *client, const char *lease, struct clv_error *err)
{
	struct clv_client_error failure;
	const json_t *devices, *device;
	json_t *object = NULL;
	size_t i;
	int r;

	if (clv_client_lease(client, lease, &object, &failure) < 0)
		object = NULL;
	devices = json_object_get(object, "devices");
	r = clv_kube_lease_sync_release(sync, lease, err);
	json_array_foreach (devices, i, device) {
		if (r >= 0)
			r = release_device(claims, client, text_of(device, "name"), err);
	}
	json_decref(object);
	return r;
}

static int unprepare(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	const struct clv_kube_claim *claim, struct clv_error *err)
{
	char lease[CLV_KUBE_LEASE_MAX];
	struct clv_client *client;
	size_t n = 0;
	int r = clv_kube_lease_sync_client(sync, &client, err);

	if (r >= 0)
		r = count_leases(claims, client, claim, &n, err);
	/* The CDI file of a lease whose release was interrupted. */
	if (r >= 0 && name_lease(claim, n, lease, err) >= 0)
		clv_kube_spec_remove(&claims->settings, lease);
	while (r >= 0 && n > 0) {
		r = name_lease(claim, --n, lease, err);
		if (r >= 0)
			r = release_lease(claims, sync, client, lease, err);
	}
	if (r >= 0)
		clv_kube_undo_remove(&claims->settings, NOTES, claim->uid);
	return r;
}

void clv_kube_claims_unprepare(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, struct clv_kube_claim *claim)
{
	claim->r = unprepare(claims, sync, claim, &claim->err);
}

/* --- Garbage collection --- */

/* Releases what could not be released before, and claims that kubelet forgot, because it
 * was stopped before it stored them or lost its state (kubernetes/kubernetes issue
 * 116411). The API server is asked about each claim at intervals; a claim that it does
 * not know is marked as gone, and released if the next check finds the same. */

#define LOOK_GRACES 30 /* checks every ten minutes with the default grace */

struct sweep {
	struct clv_kube_claims *claims;
	struct clv_kube_lease_sync *sync;
	bool is_over;
};

static void release_claim(struct sweep *sweep, const struct clv_kube_claim *claim)
{
	struct clv_error err = {};

	if (unprepare(sweep->claims, sweep->sync, claim, &err) < 0)
		clv_log_warning(0, "cannot release claim %s/%s, which is gone: %s",
			claim->namespace, claim->name, err.msg);
	else
		clv_log_info("claim %s/%s is gone: its leases are released",
			claim->namespace, claim->name);
}

static void check_claim(
	struct sweep *sweep, const struct clv_kube_claim *claim, const struct note *was)
{
	struct clv_error err = {};
	json_t *object = NULL;
	int r = fetch(sweep->claims, claim, &object, &err);
	bool is_gone = r == -ENOENT || (r >= 0 && count_ours(sweep->claims, object) == 0);

	json_decref(object);
	/* Without an answer of the API server any claim may exist, so the sweep ends. */
	if (r < 0 && r != -ENOENT)
		sweep->is_over = r != -EINVAL;
	else if (is_gone && was->is_gone)
		release_claim(sweep, claim);
	else if (write_note(sweep->claims, claim, was->n, is_gone, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
}

/* Checks a claim whose entry is old enough; each check rewrites the entry. */
static void check_entry(const char *uid, const char *text, void *userdata)
{
	char id[CLV_KUBE_UNDO_MAX];
	struct note note;
	const struct clv_kube_claim claim = {
		.uid = id, .namespace = note.namespace, .name = note.name};
	struct sweep *sweep = userdata;
	const struct clv_kube_settings *settings = &sweep->claims->settings;
	uint64_t age_ms = clv_kube_undo_age_ms(settings, NOTES, uid);

	snprintf(id, sizeof(id), "%s", uid);
	if (!sweep->is_over && parse_note(text, &note) &&
		age_ms >= (note.is_gone ? 1 : LOOK_GRACES) * (uint64_t)settings->grace_ms)
		check_claim(sweep, &claim, &note);
}

static void sweep(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	struct clv_client *client)
{
	uint64_t now_ns = clv_clock_ns();
	struct sweep state = {.claims = claims, .sync = sync};

	if (claims->swept_ns != 0 &&
		now_ns - claims->swept_ns < claims->settings.grace_ms * CLV_NS_PER_MS)
		return;
	claims->swept_ns = now_ns;
	clv_kube_ephemeral_sweep(&claims->settings, client);
	clv_kube_modes_sweep(&claims->settings, client);
	clv_kube_undo_each(&claims->settings, NOTES, check_entry, &state);
}

/* --- Slices --- */

static int find_server(struct clv_kube_claims *claims, struct clv_error *err)
{
	bool is_apart = false;
	int r = clv_kube_publish_separates_counters(claims->cluster, &is_apart, err);

	if (r < 0)
		return r;
	claims->server = (struct clv_kube_server){
		is_apart ? CLV_KUBE_COUNTERS_APART : CLV_KUBE_COUNTERS_BESIDE, true};
	claims->knows_server = true;
	return 0;
}

static int describe_and_publish(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, const struct clv_kube_inventory *inventory,
	struct clv_kube_places *ret_all, unsigned *ret_lost, struct clv_error *err)
{
	json_t *specs = NULL;
	int r;

	clv_kube_places_clear(ret_all);
	*ret_lost = 0;
	r = describe(claims, sync, inventory, ret_all, &specs, err);
	if (r >= 0)
		r = clv_kube_publish(
			claims->cluster, &claims->settings, specs, ret_lost, err);
	if (r > 0)
		clv_log_info("published %zu slices", json_array_size(specs));
	json_decref(specs);
	return r;
}

/* Does without the fields that the API server drops. */
static void adapt(struct clv_kube_claims *claims, unsigned lost)
{
	if (lost & 1u << CLV_KUBE_GATED_COUNTERS) {
		clv_log_warning(0,
			"the API server drops the counters of devices: only partitions "
			"that exist can be claimed; enable DRAPartitionableDevices and "
			"restart cleave-kubelet");
		claims->server.counters = CLV_KUBE_COUNTERS_NONE;
	}
	if (lost & 1u << CLV_KUBE_GATED_TAINTS) {
		clv_log_info("the API server drops the taints of devices, so unhealthy "
			     "devices are left out; to have taints enable "
			     "DRADeviceTaints and restart cleave-kubelet");
		claims->server.has_taints = false;
	}
}

int clv_kube_claims_publish(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, const struct clv_kube_inventory *inventory,
	struct clv_kube_places *ret_all, struct clv_error *err)
{
	struct clv_client *client;
	unsigned lost = 0;
	int r = clv_kube_lease_sync_client(sync, &client, err);

	if (r < 0)
		return r;
	sweep(claims, sync, client);
	if (!claims->knows_server)
		r = find_server(claims, err);
	if (r >= 0)
		r = describe_and_publish(claims, sync, inventory, ret_all, &lost, err);
	/* Other slices may have other fields. */
	for (unsigned i = 0; r == -EOPNOTSUPP && lost != 0 && i < _CLV_KUBE_GATED_MAX;
		i++) {
		adapt(claims, lost);
		r = describe_and_publish(claims, sync, inventory, ret_all, &lost, err);
	}
	return r < 0 ? r : 0;
}
