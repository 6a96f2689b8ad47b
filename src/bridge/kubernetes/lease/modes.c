/* SPDX-License-Identifier: Apache-2.0 */
/* Changes compute modes through the agent, and restores the recorded ones. */
#include "bridge/kubernetes/lease/modes.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "bridge/kubernetes/lease/ephemeral-partitions.h"
#include "bridge/kubernetes/lease/refusal.h"
#include "bridge/kubernetes/lease/undo-log.h"
#include "core/gpu/xcp.h"

#include <cleave.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define FOLDER "modes" /* of the undo log; a file for each GPU */
#define PROFILE_MAX 24

static const json_t *find_device(const json_t *node, const char *name)
{
	const json_t *devices = json_object_get(node, "devices"), *device;
	size_t i;

	json_array_foreach (devices, i, device) {
		const char *other = json_string_value(json_object_get(device, "name"));

		if (other && strcmp(other, name) == 0)
			return device;
	}
	return NULL;
}

static int profile_now(struct clv_client *client, const char *device,
	char ret[PROFILE_MAX], struct clv_error *err)
{
	struct clv_client_error failure;
	const char *compute, *memory;
	json_t *node = NULL;
	const json_t *xcp;
	int r = clv_client_node(client, &node, &failure);

	if (r < 0)
		return clv_kube_refuse(r, failure.msg, err);
	xcp = json_object_get(find_device(node, device), "xcp");
	compute = json_string_value(json_object_get(xcp, "compute"));
	memory = clv_memory_mode_to_string(
		(enum clv_memory_mode)json_integer_value(json_object_get(xcp, "memory")));
	if (compute && memory)
		snprintf(ret, PROFILE_MAX, "%s/%s", compute, memory);
	else
		r = clv_error_set(
			err, -ENODEV, "this node has no %.60s with modes now", device);
	json_decref(node);
	return r;
}

static int change(struct clv_client *client, const char *device, const char *profile,
	struct clv_error *err)
{
	const struct clv_client_partition_request request = {
		.device = device, .profile = profile, .count = 1};
	struct clv_client_error failure = {};
	json_t *operation = NULL;
	int r = clv_client_partition_create(client, &request, &operation, &failure);

	if (r < 0)
		return clv_kube_refuse(-EAGAIN, failure.msg, err);
	return clv_kube_ephemeral_wait(client, operation, err);
}

/* An entry of the undo log: the original profile of the GPU, the profile before the last
 * change, and the profile after it.  After an interrupted change the GPU has one of the
 * last two. */
struct note {
	char had[PROFILE_MAX], given[PROFILE_MAX], wanted[PROFILE_MAX];
};

static bool read_note(
	const struct clv_kube_settings *settings, const char *device, struct note *ret)
{
	_cleanup_free_ char *text = clv_kube_undo_read(settings, FOLDER, device);

	return text &&
	       sscanf(text, "%23s %23s %23s", ret->had, ret->given, ret->wanted) == 3;
}

static bool is_ours(const struct note *note, const char *profile)
{
	return strcmp(note->given, profile) == 0 || strcmp(note->wanted, profile) == 0;
}

static int write_note(const struct clv_kube_settings *settings, const char *device,
	const struct note *note, struct clv_error *err)
{
	char text[3 * PROFILE_MAX];

	snprintf(text, sizeof(text), "%s %s %s", note->had, note->given, note->wanted);
	return clv_kube_undo_write(settings, FOLDER, device, text, err);
}

/* A claim cannot change the memory mode, which needs a reload of the driver. */
static int check_memory(
	const char *device, const char *now, const char *wanted, struct clv_error *err)
{
	if (strcmp(now + strcspn(now, "/"), wanted + strcspn(wanted, "/")) == 0)
		return 0;
	return clv_error_set(
		err, -ENODEV, "%s is in %s, so %s is not possible", device, now, wanted);
}

int clv_kube_mode_set(const struct clv_kube_settings *settings, struct clv_client *client,
	const char *device, const char *profile, struct clv_error *err)
{
	struct note note;
	char now[PROFILE_MAX];
	int r = profile_now(client, device, now, err);

	if (r < 0 || strcmp(now, profile) == 0)
		return r;
	r = check_memory(device, now, profile, err);
	if (r < 0)
		return r;
	/* After several changes the mode before the first one is restored. */
	if (!read_note(settings, device, &note) || !is_ours(&note, now))
		memcpy(note.had, now, sizeof(note.had));
	memcpy(note.given, now, sizeof(note.given));
	snprintf(note.wanted, sizeof(note.wanted), "%s", profile);
	r = write_note(settings, device, &note, err);
	return r < 0 ? r : change(client, device, profile, err);
}

static bool is_used(struct clv_client *client, const char *device)
{
	struct clv_client_error failure;
	json_t *leases = NULL;
	bool used = clv_client_leases_on(client, device, &leases, &failure) < 0 ||
		    json_array_size(json_object_get(leases, "items")) > 0;

	json_decref(leases);
	return used;
}

static int restore(const struct clv_kube_settings *settings, struct clv_client *client,
	const char *device, struct clv_error *err)
{
	char now[PROFILE_MAX];
	struct note note;
	int r;

	if (!read_note(settings, device, &note) || is_used(client, device))
		return 0;
	r = profile_now(client, device, now, err);
	if (r >= 0 && is_ours(&note, now) && strcmp(now, note.had) != 0)
		r = change(client, device, note.had, err);
	if (r >= 0)
		clv_kube_undo_remove(settings, FOLDER, device);
	return r;
}

void clv_kube_mode_restore(const struct clv_kube_settings *settings,
	struct clv_client *client, const char *device)
{
	struct clv_error err = {};

	if (restore(settings, client, device, &err) < 0)
		clv_log_warning(
			0, "cannot restore the mode of %s now: %s", device, err.msg);
}

struct sweep {
	const struct clv_kube_settings *settings;
	struct clv_client *client;
};

static void restore_entry(const char *device, const char *text, void *userdata)
{
	const struct sweep *sweep = userdata;

	clv_kube_mode_restore(sweep->settings, sweep->client, device);
}

void clv_kube_modes_sweep(
	const struct clv_kube_settings *settings, struct clv_client *client)
{
	struct sweep sweep = {settings, client};

	clv_kube_undo_each(settings, FOLDER, restore_entry, &sweep);
}
