/* SPDX-License-Identifier: Apache-2.0 */
/* The undo log of claims, their release, and those that kubelet forgot. */
#include "bridge/kubernetes/lease/claims-internal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bridge/kubernetes/lease/claims.h"
#include "bridge/kubernetes/lease/ephemeral-partitions.h"
#include "bridge/kubernetes/lease/modes.h"
#include "bridge/kubernetes/lease/refusal.h"
#include "bridge/kubernetes/lease/spec.h"
#include "bridge/kubernetes/lease/undo-log.h"

#include <cleave.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTES "claims" /* folder of the undo log; a file for each uid */
#define LEASES_MAX 64u /* of a claim: Kubernetes allocates 32 devices at most */

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

int clv_kube_claims_record(struct clv_kube_claims *claims,
	const struct clv_kube_claim *claim, size_t n, struct clv_error *err)
{
	char lease[CLV_KUBE_LEASE_MAX];
	int r = clv_kube_claims_name_lease(claim, 0, lease, err);

	if (r < 0 || clv_kube_undo_exists(&claims->settings, NOTES, claim->uid))
		return r;
	return write_note(claims, claim, (unsigned int)n, false, err);
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
		return clv_kube_claims_name_lease(claim, 0, lease, err);
	}
	for (*ret = 0; *ret < LEASES_MAX; ++*ret) {
		json_t *object = NULL;

		r = clv_kube_claims_name_lease(claim, *ret, lease, err);
		if (r < 0)
			return r;
		r = clv_client_lease(client, lease, &object, &failure);
		json_decref(object);
		if (r < 0 && strcmp(failure.code, "not_found") == 0)
			return 0;
		if (r < 0)
			return clv_kube_refuse(r, failure.msg, err);
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
			r = release_device(claims, client,
				clv_kube_claims_text(device, "name"), err);
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
	if (r >= 0 && clv_kube_claims_name_lease(claim, n, lease, err) >= 0)
		clv_kube_spec_remove(&claims->settings, lease);
	while (r >= 0 && n > 0) {
		r = clv_kube_claims_name_lease(claim, --n, lease, err);
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
	int r = clv_kube_claims_fetch(sweep->claims, claim, &object, &err);
	bool is_gone = r == -ENOENT ||
		       (r >= 0 && clv_kube_claims_count_ours(sweep->claims, object) == 0);

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

void clv_kube_claims_sweep(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, struct clv_client *client)
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
