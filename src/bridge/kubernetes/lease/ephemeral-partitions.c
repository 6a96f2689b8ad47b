/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and destroys partitions through the agent, with an entry in the undo log. */
#include "bridge/kubernetes/lease/ephemeral-partitions.h"

#include "base/error.h"
#include "base/log.h"
#include "bridge/kubernetes/lease/refusal.h"
#include "bridge/kubernetes/lease/undo-log.h"

#include <cleave.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define FOLDER "made"
#define WAIT_MS 60000u

int clv_kube_ephemeral_wait(
	struct clv_client *client, json_t *operation, struct clv_error *err)
{
	for (;;) {
		const char *id = json_string_value(json_object_get(operation, "id"));
		const char *state =
			json_string_value(json_object_get(operation, "state"));
		const json_t *error = json_object_get(operation, "error");
		uint64_t revision = (uint64_t)json_integer_value(
			json_object_get(operation, "revision"));
		const char *detail = json_string_value(json_object_get(error, "detail"));
		struct clv_client_error failure;
		json_t *next = NULL;
		int r = 0;

		if (!id || !state || strcmp(state, "done") == 0)
			break;
		if (strcmp(state, "failed") == 0 || strcmp(state, "rolled_back") == 0)
			r = clv_error_set(err, -EAGAIN, "%s",
				detail ? detail : "the operation failed");
		else if (clv_client_operation_wait(
				 client, id, revision, WAIT_MS, &next, &failure) < 0)
			r = clv_kube_refuse(failure.error, failure.msg, err);
		if (r < 0) {
			json_decref(operation);
			return r;
		}
		json_decref(operation);
		operation = next;
	}
	json_decref(operation);
	return 0;
}

int clv_kube_ephemeral_create(const struct clv_kube_settings *settings,
	struct clv_client *client, const char *device, const char *profile,
	uint32_t start, struct clv_error *err)
{
	const struct clv_client_partition_request request = {.device = device,
		.profile = profile,
		.has_start = true,
		.start = start,
		.count = 1};
	struct clv_client_error failure = {};
	json_t *operation = NULL;
	char partition[80];
	int r;

	snprintf(partition, sizeof(partition), "%s/%s@%" PRIu32, device, profile, start);
	r = clv_kube_undo_write(settings, FOLDER, partition, partition, err);
	if (r < 0)
		return r;
	r = clv_client_partition_create(client, &request, &operation, &failure);
	if (r < 0)
		clv_kube_refuse(r, failure.msg, err);
	else
		r = clv_kube_ephemeral_wait(client, operation, err);
	/* The record is kept if the agent's answer was lost: the partition may exist. */
	if (r == -EAGAIN || (r < 0 && failure.status != 0))
		clv_kube_undo_remove(settings, FOLDER, partition);
	return r;
}

int clv_kube_ephemeral_destroy(const struct clv_kube_settings *settings,
	struct clv_client *client, const char *partition, struct clv_error *err)
{
	struct clv_client_error failure;
	json_t *operation = NULL;
	int r;

	if (!clv_kube_undo_exists(settings, FOLDER, partition))
		return 0;
	r = clv_client_partition_destroy(client, partition, &operation, &failure);
	if (r < 0 && strcmp(failure.code, "not_found") != 0 &&
		strcmp(failure.code, "no_such_device") != 0)
		return clv_kube_refuse(-EAGAIN, failure.msg, err);
	if (r >= 0)
		r = clv_kube_ephemeral_wait(client, operation, err);
	else
		r = 0;
	if (r >= 0)
		clv_kube_undo_remove(settings, FOLDER, partition);
	return r;
}

struct sweep {
	const struct clv_kube_settings *settings;
	struct clv_client *client;
};

static bool is_used(struct clv_client *client, const char *partition)
{
	struct clv_client_error failure;
	json_t *leases = NULL;
	bool used = true;

	if (clv_client_leases_on(client, partition, &leases, &failure) >= 0)
		used = json_array_size(json_object_get(leases, "items")) > 0;
	else if (strcmp(failure.code, "no_such_device") == 0)
		used = false;
	json_decref(leases);
	return used;
}

static void destroy_if_unused(const char *partition, const char *text, void *userdata)
{
	const struct sweep *sweep = userdata;
	struct clv_error err = {};

	if (!strchr(partition, '/') || is_used(sweep->client, partition))
		return;
	if (clv_kube_ephemeral_destroy(sweep->settings, sweep->client, partition, &err) <
		0)
		clv_log_warning(0, "%s: %s", partition, err.msg);
}

void clv_kube_ephemeral_sweep(
	const struct clv_kube_settings *settings, struct clv_client *client)
{
	struct sweep sweep = {settings, client};

	clv_kube_undo_each(settings, FOLDER, destroy_if_unused, &sweep);
}
