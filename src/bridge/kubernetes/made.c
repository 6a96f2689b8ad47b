/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/kubernetes/made.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/paths.h"

#include <cleave.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_MAX_BYTES (2 * CLV_KUBE_PATH_MAX)
#define WAIT_MS 60000u

static void find_folder(
	const struct clv_kube_settings *settings, char ret[PATH_MAX_BYTES])
{
	snprintf(ret, PATH_MAX_BYTES, "%s/plugins/%s/made", settings->kubelet,
		settings->driver);
}

/* "gpu0/1g.10gb@4" is "gpu0%1g.10gb@4" there. */
static void find_path(const struct clv_kube_settings *settings, const char *partition,
	char ret[PATH_MAX_BYTES])
{
	char folder[PATH_MAX_BYTES], name[80];

	find_folder(settings, folder);
	snprintf(name, sizeof(name), "%s", partition);
	for (char *p = name; *p != '\0'; p++)
		*p = *p == '/' ? '%' : *p;
	snprintf(ret, PATH_MAX_BYTES, "%s/%s", folder, name);
}

/* Until the operation has ended. */
static int wait_for(struct clv_client *client, json_t *operation, struct clv_error *err)
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
			r = clv_error_set(err, failure.error, "%s", failure.msg);
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

int clv_kube_made_create(const struct clv_kube_settings *settings,
	struct clv_client *client, const char *device, const char *profile,
	uint32_t start, struct clv_error *err)
{
	const struct clv_client_partition_request request = {.device = device,
		.profile = profile,
		.has_start = true,
		.start = start,
		.count = 1};
	char path[PATH_MAX_BYTES], partition[80];
	struct clv_client_error failure = {};
	json_t *operation = NULL;
	int r;

	snprintf(partition, sizeof(partition), "%s/%s@%" PRIu32, device, profile, start);
	find_folder(settings, path);
	r = clv_path_make(path, 0700, err);
	find_path(settings, partition, path);
	if (r >= 0)
		r = clv_file_replace(path, partition, err);
	if (r < 0)
		return r;
	r = clv_client_partition_create(client, &request, &operation, &failure);
	if (r < 0)
		clv_error_set(err, r, "%s", failure.msg);
	else
		r = wait_for(client, operation, err);
	/* Where the agent did not say that it is not there, it may be. */
	if (r == -EAGAIN || (r < 0 && failure.status != 0))
		unlink(path);
	return r;
}

int clv_kube_made_destroy(const struct clv_kube_settings *settings,
	struct clv_client *client, const char *partition, struct clv_error *err)
{
	struct clv_client_error failure;
	json_t *operation = NULL;
	char path[PATH_MAX_BYTES];
	int r;

	find_path(settings, partition, path);
	if (access(path, F_OK) < 0)
		return 0;
	r = clv_client_partition_destroy(client, partition, &operation, &failure);
	if (r < 0 && strcmp(failure.code, "not_found") != 0 &&
		strcmp(failure.code, "no_such_device") != 0)
		return clv_error_set(err, -EAGAIN, "%s", failure.msg);
	if (r >= 0)
		r = wait_for(client, operation, err);
	else
		r = 0;
	if (r >= 0)
		unlink(path);
	return r;
}

void clv_kube_made_sweep(const struct clv_kube_settings *settings,
	struct clv_client *client, bool (*is_used)(const char *partition, void *userdata),
	void *userdata)
{
	char path[PATH_MAX_BYTES], partition[80];
	const struct dirent *file;
	DIR *folder;

	find_folder(settings, path);
	folder = opendir(path);
	while (folder && (file = readdir(folder))) {
		struct clv_error err = {};

		snprintf(partition, sizeof(partition), "%.79s", file->d_name);
		for (char *p = partition; *p != '\0'; p++)
			*p = *p == '%' ? '/' : *p;
		if (!strchr(partition, '/') || is_used(partition, userdata))
			continue;
		if (clv_kube_made_destroy(settings, client, partition, &err) < 0)
			clv_log_warning(0, "%s: %s", partition, err.msg);
	}
	if (folder)
		closedir(folder);
}
