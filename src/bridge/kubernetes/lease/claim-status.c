/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces this node's entries of status.devices and keeps those of other drivers.  The
 * claim's resourceVersion makes the API server refuse the status if another client has
 * changed the claim meanwhile; kubelet prepares a refused claim again, so no write is
 * repeated here. */
#include "bridge/kubernetes/lease/claim-status.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bridge/kubernetes/apiserver/cluster.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define READY "Ready"

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool is_same(const json_t *a, const json_t *b, const char *key)
{
	return strcmp(text_of(a, key), text_of(b, key)) == 0;
}

static bool is_ours(const struct clv_kube_settings *settings, const json_t *device)
{
	return strcmp(text_of(device, "driver"), settings->driver) == 0 &&
	       strcmp(text_of(device, "pool"), settings->node) == 0;
}

/* The entry of status.devices for a result of the allocation. */
static const json_t *find_entry(const json_t *devices, const json_t *result)
{
	const json_t *device;
	size_t i;

	json_array_foreach (devices, i, device) {
		if (is_same(device, result, "driver") &&
			is_same(device, result, "pool") &&
			is_same(device, result, "device") &&
			is_same(device, result, "shareID"))
			return device;
	}
	return NULL;
}

static const json_t *find_ready(const json_t *entry)
{
	const json_t *conditions = json_object_get(entry, "conditions"), *condition;
	size_t i;

	json_array_foreach (conditions, i, condition) {
		if (strcmp(text_of(condition, "type"), READY) == 0)
			return condition;
	}
	return NULL;
}

static bool is_wanted(const json_t *ready, const char *refusal)
{
	if (!refusal) /* a status is written only where it says something else */
		return !ready || strcmp(text_of(ready, "status"), "True") == 0;
	return ready && strcmp(text_of(ready, "status"), "False") == 0 &&
	       strcmp(text_of(ready, "message"), refusal) == 0;
}

/* metav1.Condition */
static json_t *make_ready(const json_t *before, const char *refusal)
{
	const char *status = refusal ? "False" : "True";
	char now[32];

	clv_clock_format_rfc3339(clv_clock_real_ns(), now);
	return json_pack("{s:s,s:s,s:s,s:s,s:s}", "type", READY, "status", status,
		"reason", refusal ? "Refused" : "Prepared", "message",
		refusal ? refusal : "the node has prepared the device",
		"lastTransitionTime",
		before && strcmp(text_of(before, "status"), status) == 0
			? text_of(before, "lastTransitionTime")
			: now);
}

static json_t *make_conditions(const json_t *entry, const char *refusal)
{
	json_t *conditions = json_array(), *condition;
	const json_t *ready = find_ready(entry);
	size_t i;

	json_array_foreach (json_object_get(entry, "conditions"), i, condition) {
		if (condition != ready)
			json_array_append(conditions, condition);
	}
	json_array_append_new(conditions, make_ready(ready, refusal));
	return conditions;
}

/* resource/v1, AllocatedDeviceStatus */
static json_t *make_entry(const json_t *entry, const json_t *result, const char *refusal)
{
	static const char *const keys[] = {"driver", "pool", "device", "shareID"};
	json_t *made = entry ? json_copy((json_t *)(uintptr_t)entry) : json_object();

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *value = json_object_get(result, keys[i]);

		if (value)
			json_object_set(made, keys[i], value);
	}
	json_object_set_new(made, "conditions", make_conditions(entry, refusal));
	return made;
}

/* The new list; NULL: it is as it should be. */
static json_t *make_devices(const struct clv_kube_settings *settings,
	const json_t *status, const char *refusal)
{
	const json_t *results = json_object_get(
		json_object_get(json_object_get(status, "allocation"), "devices"),
		"results");
	const json_t *before = json_object_get(status, "devices"), *result;
	json_t *devices = json_array(), *device;
	bool is_changed = false;
	size_t i;

	json_array_foreach (before, i, device) {
		if (!is_ours(settings, device))
			json_array_append(devices, device);
	}
	json_array_foreach (results, i, result) {
		const json_t *entry = find_entry(before, result);

		if (!is_ours(settings, result))
			continue;
		is_changed = is_changed || !is_wanted(find_ready(entry), refusal);
		json_array_append_new(devices, make_entry(entry, result, refusal));
	}
	if (!is_changed) {
		json_decref(devices);
		return NULL;
	}
	return devices;
}

static int write_status(struct clv_kube_cluster *cluster,
	const struct clv_kube_settings *settings, const json_t *claim, json_t *devices,
	bool *ret_is_kept, struct clv_error *err)
{
	const json_t *metadata = json_object_get(claim, "metadata");
	json_t *body = json_deep_copy(claim), *answer = NULL;
	char path[1024], version[64];
	int r;

	snprintf(version, sizeof(version), "resource.k8s.io/%s", settings->version);
	json_object_set_new(body, "apiVersion", json_string(version));
	json_object_set_new(body, "kind", json_string("ResourceClaim"));
	json_object_set(json_object_get(body, "status"), "devices", devices);
	snprintf(path, sizeof(path),
		"/apis/resource.k8s.io/%s/namespaces/%.300s/resourceclaims/%.300s/status",
		settings->version, text_of(metadata, "namespace"),
		text_of(metadata, "name"));
	r = clv_kube_cluster_request(cluster, "PUT", path, body, &answer, err);
	*ret_is_kept = json_array_size(json_object_get(
			       json_object_get(answer, "status"), "devices")) > 0;
	json_decref(answer);
	json_decref(body);
	return r;
}

static void log_why_not(
	struct clv_kube_claim_status *status, const char *why, const char *remedy)
{
	if (!status->was_logged)
		clv_log_info("refusals are shown in events of pods only, not in claims: "
			     "%s: %s",
			why, remedy);
	status->was_logged = true;
}

void clv_kube_claim_status_show(struct clv_kube_claim_status *status,
	struct clv_kube_cluster *cluster, const struct clv_kube_settings *settings,
	const json_t *claim, const char *refusal)
{
	json_t *devices =
		make_devices(settings, json_object_get(claim, "status"), refusal);
	struct clv_error err = {};
	bool is_kept = true;
	int r;

	if (!devices)
		return;
	r = write_status(cluster, settings, claim, devices, &is_kept, &err);
	json_decref(devices);
	if (r == -EPERM)
		log_why_not(status, err.msg, "let the role update resourceclaims/status");
	else if (r >= 0 && !is_kept)
		log_why_not(status, "the API server drops status.devices",
			"enable DRAResourceClaimDeviceStatus");
	else if (r < 0 && r != -EEXIST)
		clv_log_warning(0, "cannot show a refusal in its claim: %s", err.msg);
}
