/* SPDX-License-Identifier: Apache-2.0 */
/* Polls the agent's devices and patches the node's annotation when the text changes. */
#include "bridge/kubernetes/apiserver/announce.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bridge/kubernetes/apiserver/cluster.h"

#include <cleave.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define EVERY_MS 2000
#define MARK_MS 500 /* from an announcement of more room to the mark */
/* The annotation is written again after this time, in case another client changed it. */
#define ANYWAY_NS (60 * CLV_NS_PER_S)
#define ANNOTATION "cleave.dev/devices"
/* When free room last grew, in seconds since 1970: a label or an annotation. */
#define MARK "cleave.dev/freed"
/* kube-scheduler tries pods again when an annotation of a node changes since 1.28; older
 * ones look at labels.  Clusters upgrade it before the kubelets. */
#define FIRST_BY_ANNOTATIONS 28
#define MIB 1048576.0

struct clv_kube_announcer {
	struct clv_kube_settings settings;
	struct clv_kube_announcer_options options;
	struct clv_kube_cluster *cluster;
	struct clv_client *client; /* NULL: not connected */
	char *written;             /* owned; the last value written; NULL: none */
	uint64_t written_ns;       /* when it was written */
	bool has_grown;            /* free room has, since the mark was written */
	int minor;                 /* 34 of kubelet's version 1.34; 0: not known */
	bool is_failing;
	pthread_t thread;
	int end_fd;
};

/* --- The value --- */

static double number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool takes_leases(const json_t *device)
{
	const json_t *health = json_object_get(device, "health");

	return json_is_null(json_object_get(device, "parent")) &&
	       !json_is_true(json_object_get(device, "divided")) &&
	       !json_is_true(json_object_get(device, "cordoned")) &&
	       strcmp(text_of(health, "state"), "ok") == 0;
}

/* Rounds down, so that what fits the announced room fits the device.  Negative if more is
 * promised than the device has (overcommit). */
static json_int_t whole(double number)
{
	return number < 0 ? 0 : (json_int_t)number;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

struct room {
	double share, bytes;
};

/* A lease with processes cannot be released, whatever kubelet lists. */
static bool gives_room(
	const json_t *lease, const json_t *unlisted, const char *device_name)
{
	return json_object_get(unlisted, text_of(lease, "name")) &&
	       strcmp(text_of(lease, "device"), device_name) == 0 &&
	       json_array_size(json_object_get(lease, "devices")) == 1 &&
	       json_array_size(json_object_get(lease, "processes")) == 0;
}

static struct room add_up_unlisted(
	const json_t *leases, const json_t *unlisted, const char *device_name)
{
	struct room sum = {0};
	const json_t *lease;
	size_t i;

	json_array_foreach (json_object_get(leases, "items"), i, lease) {
		if (!gives_room(lease, unlisted, device_name))
			continue;
		sum.share += number_of(lease, "share");
		sum.bytes += number_of(lease, "memory_bytes");
	}
	return sum;
}

static json_t *announce_device(
	const json_t *device, const json_t *leases, const json_t *unlisted)
{
	double memory = number_of(device, "memory_bytes");
	struct room room = add_up_unlisted(leases, unlisted, text_of(device, "name"));

	room.share = least(1, room.share + 1 - number_of(device, "share_promised"));
	room.bytes = least(
		memory, room.bytes + memory - number_of(device, "memory_promised_bytes"));
	return json_pack("{s:O,s:O,s:I,s:I,s:I}", "name", json_object_get(device, "name"),
		"model", json_object_get(device, "model"), "memory_mib",
		whole(memory / MIB), "free_milli", whole(1000 * room.share + 1e-6),
		"free_mib", whole(room.bytes / MIB));
}

char *clv_kube_announcement(
	const json_t *devices, const json_t *leases, const json_t *unlisted)
{
	json_t *list = json_array();
	const json_t *device;
	char *text;
	size_t i;

	json_array_foreach (json_object_get(devices, "items"), i, device) {
		if (takes_leases(device))
			json_array_append_new(
				list, announce_device(device, leases, unlisted));
	}
	text = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	return text;
}

static const json_t *find_device(const json_t *list, const char *name)
{
	const json_t *device;
	size_t i;

	json_array_foreach (list, i, device) {
		if (strcmp(text_of(device, "name"), name) == 0)
			return device;
	}
	return NULL;
}

bool clv_kube_announcement_grows(const char *before, const char *after)
{
	json_t *old = json_loads(before, 0, NULL), *new = json_loads(after, 0, NULL);
	const json_t *device;
	bool grows = false;
	size_t i;

	json_array_foreach (new, i, device) {
		const json_t *was = find_device(old, text_of(device, "name"));

		grows = grows || !was ||
			number_of(device, "free_milli") > number_of(was, "free_milli") ||
			number_of(device, "free_mib") > number_of(was, "free_mib");
	}
	json_decref(old);
	json_decref(new);
	return grows;
}

/* --- The agent --- */

/* The devices come first: a lease that ends meanwhile is then missing in the answer for
 * leases, and its room is announced with the next change. */
static int ask(
	struct clv_kube_announcer *announcer, char **ret, struct clv_client_error *why)
{
	json_t *devices = NULL, *leases = NULL, *unlisted;
	int r = clv_client_devices(announcer->client, &devices, why);

	if (r < 0)
		return r;
	unlisted = announcer->options.list_unlisted(announcer->options.userdata);
	if (unlisted)
		r = clv_client_leases(announcer->client, &leases, why);
	if (r >= 0)
		*ret = clv_kube_announcement(devices, leases, unlisted);
	json_decref(devices);
	json_decref(leases);
	json_decref(unlisted);
	return r;
}

static int ask_agent(
	struct clv_kube_announcer *announcer, char **ret, struct clv_error *err)
{
	const char *socket = announcer->settings.agent;
	struct clv_client_options options = {.socket_path = socket[0] ? socket : NULL,
		.interrupt_fd = announcer->end_fd};
	struct clv_client_error why;
	int r = announcer->client ? 0
				  : clv_client_new(&options, &announcer->client, &why);

	if (r >= 0)
		r = ask(announcer, ret, &why);
	if (r < 0) {
		announcer->client = clv_client_free(announcer->client);
		return clv_error_set(err, r, "%.400s", why.msg);
	}
	return *ret ? 0 : clv_error_errno(err, ENOMEM, "cannot describe the devices");
}

/* --- The API server --- */

/* kind: "annotations" or "labels". */
static int write_node(struct clv_kube_announcer *announcer, const char *kind,
	const char *name, const char *text, struct clv_error *err)
{
	json_t *body = json_pack("{s:{s:{s:s}}}", "metadata", kind, name, text);
	json_t *node = NULL;
	char path[CLV_KUBE_PATH_MAX + 32];
	const char *version = "";
	int r;

	snprintf(path, sizeof(path), "/api/v1/nodes/%s", announcer->settings.node);
	r = clv_kube_cluster_request(announcer->cluster, "PATCH", path, body, &node, err);
	json_decref(body);
	json_unpack(
		node, "{s:{s:{s:s}}}", "status", "nodeInfo", "kubeletVersion", &version);
	sscanf(version, "v1.%3d", &announcer->minor);
	json_decref(node);
	return r;
}

/* A scheduler that is woken by the announcement itself may ask an extender that has not
 * read it yet.  So the mark is written after it. */
static int mark(struct clv_kube_announcer *announcer, struct clv_error *err)
{
	bool is_old = announcer->minor != 0 && announcer->minor < FIRST_BY_ANNOTATIONS;
	char text[32];
	int r;

	if (!announcer->has_grown)
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64, clv_clock_real_ns() / CLV_NS_PER_S);
	r = write_node(announcer, is_old ? "labels" : "annotations", MARK, text, err);
	announcer->has_grown = r < 0;
	return r;
}

static int announce_value(struct clv_kube_announcer *announcer, struct clv_error *err)
{
	_cleanup_free_ char *text = NULL;
	uint64_t now_ns = clv_clock_ns();
	int r = ask_agent(announcer, &text, err);

	if (r >= 0 && announcer->written && strcmp(announcer->written, text) == 0 &&
		now_ns < announcer->written_ns + ANYWAY_NS)
		return 0;
	if (r >= 0)
		r = write_node(announcer, "annotations", ANNOTATION, text, err);
	if (r < 0)
		return r;
	/* What was free before a restart is not known. */
	announcer->has_grown = announcer->has_grown || !announcer->written ||
			       clv_kube_announcement_grows(announcer->written, text);
	free(announcer->written);
	announcer->written = CLV_TAKE(text);
	announcer->written_ns = now_ns;
	return 0;
}

static void announce(struct clv_kube_announcer *announcer)
{
	struct clv_error err = {};
	int r = mark(announcer, &err);

	if (r >= 0)
		r = announce_value(announcer, &err);
	if (r < 0 && !announcer->is_failing)
		clv_log_warning(
			0, "cannot announce what is free on the node: %s", err.msg);
	announcer->is_failing = r < 0;
}

static void *work(void *userdata)
{
	struct clv_kube_announcer *announcer = userdata;
	struct pollfd end = {.fd = announcer->end_fd, .events = POLLIN};
	int pause_ms;

	do {
		announce(announcer);
		pause_ms = announcer->has_grown && !announcer->is_failing ? MARK_MS
									  : EVERY_MS;
	} while (poll(&end, 1, pause_ms) <= 0);
	return NULL;
}

int clv_kube_announcer_new(const struct clv_kube_settings *settings,
	const struct clv_kube_announcer_options *options, struct clv_kube_announcer **ret,
	struct clv_error *err)
{
	struct clv_kube_announcer *announcer = calloc(1, sizeof(*announcer));
	int r;

	if (!announcer)
		return clv_error_errno(err, ENOMEM, "cannot start");
	announcer->settings = *settings;
	announcer->options = *options;
	announcer->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	/* Without it the thread would never end. */
	r = announcer->end_fd < 0 ? clv_error_errno(err, errno, "cannot start") : 0;
	if (r >= 0)
		r = clv_kube_cluster_new(settings, &announcer->cluster, err);
	if (r >= 0) {
		r = -pthread_create(&announcer->thread, NULL, work, announcer);
		if (r < 0)
			clv_error_errno(err, -r, "cannot start a thread");
	}
	if (r < 0) {
		clv_kube_cluster_free(announcer->cluster);
		clv_close_fd(&announcer->end_fd);
		free(announcer);
		return r;
	}
	*ret = announcer;
	return 0;
}

struct clv_kube_announcer *clv_kube_announcer_free(struct clv_kube_announcer *announcer)
{
	if (!announcer)
		return NULL;
	eventfd_write(announcer->end_fd, 1);
	pthread_join(announcer->thread, NULL);
	clv_client_free(announcer->client);
	clv_kube_cluster_free(announcer->cluster);
	clv_close_fd(&announcer->end_fd);
	free(announcer->written);
	free(announcer);
	return NULL;
}
