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
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define EVERY_MS 2000
/* The annotation is written again after this time, in case another client changed it. */
#define ANYWAY_NS (60 * CLV_NS_PER_S)
#define ANNOTATION "cleave.dev/devices"
#define MIB 1048576.0

struct clv_kube_announcer {
	struct clv_kube_settings settings;
	struct clv_kube_cluster *cluster;
	struct clv_client *client; /* NULL: not connected */
	char *written;             /* owned; the last value written; NULL: none */
	uint64_t written_ns;       /* when it was written */
	bool is_failing;
	pthread_t thread;
	int end_fd;
};

static double number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static bool takes_leases(const json_t *device)
{
	const json_t *health = json_object_get(device, "health");
	const char *state = json_string_value(json_object_get(health, "state"));

	return json_is_null(json_object_get(device, "parent")) &&
	       !json_is_true(json_object_get(device, "divided")) &&
	       !json_is_true(json_object_get(device, "cordoned")) && state &&
	       strcmp(state, "ok") == 0;
}

/* Rounds down, so that what fits the announced room fits the device.  Negative if more is
 * promised than the device has (overcommit). */
static json_int_t whole(double number)
{
	return number < 0 ? 0 : (json_int_t)number;
}

static json_t *announce_device(const json_t *device)
{
	double memory = number_of(device, "memory_bytes");
	double free_bytes = memory - number_of(device, "memory_promised_bytes");
	double free_share = 1 - number_of(device, "share_promised");

	return json_pack("{s:O,s:O,s:I,s:I,s:I}", "name", json_object_get(device, "name"),
		"model", json_object_get(device, "model"), "memory_mib",
		whole(memory / MIB), "free_milli", whole(1000 * free_share + 1e-6),
		"free_mib", whole(free_bytes / MIB));
}

char *clv_kube_announcement(const json_t *devices)
{
	json_t *list = json_array();
	const json_t *device;
	char *text;
	size_t i;

	json_array_foreach (json_object_get(devices, "items"), i, device) {
		if (takes_leases(device))
			json_array_append_new(list, announce_device(device));
	}
	text = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	return text;
}

static int ask_agent(
	struct clv_kube_announcer *announcer, char **ret, struct clv_error *err)
{
	const char *socket = announcer->settings.agent;
	struct clv_client_options options = {.socket_path = socket[0] ? socket : NULL,
		.interrupt_fd = announcer->end_fd};
	struct clv_client_error why;
	json_t *devices = NULL;
	int r = announcer->client ? 0
				  : clv_client_new(&options, &announcer->client, &why);

	if (r >= 0)
		r = clv_client_devices(announcer->client, &devices, &why);
	if (r < 0) {
		announcer->client = clv_client_free(announcer->client);
		return clv_error_set(err, r, "%.400s", why.msg);
	}
	*ret = clv_kube_announcement(devices);
	json_decref(devices);
	return *ret ? 0 : clv_error_errno(err, ENOMEM, "cannot describe the devices");
}

static int write_annotation(
	struct clv_kube_announcer *announcer, const char *text, struct clv_error *err)
{
	json_t *body =
		json_pack("{s:{s:{s:s}}}", "metadata", "annotations", ANNOTATION, text);
	char path[CLV_KUBE_PATH_MAX + 32];
	int r;

	snprintf(path, sizeof(path), "/api/v1/nodes/%s", announcer->settings.node);
	r = clv_kube_cluster_request(announcer->cluster, "PATCH", path, body, NULL, err);
	json_decref(body);
	return r;
}

static void announce(struct clv_kube_announcer *announcer)
{
	_cleanup_free_ char *text = NULL;
	struct clv_error err = {};
	uint64_t now_ns = clv_clock_ns();
	int r = ask_agent(announcer, &text, &err);

	if (r >= 0 && announcer->written && strcmp(announcer->written, text) == 0 &&
		now_ns < announcer->written_ns + ANYWAY_NS)
		return;
	if (r >= 0)
		r = write_annotation(announcer, text, &err);
	if (r >= 0) {
		free(announcer->written);
		announcer->written = CLV_TAKE(text);
		announcer->written_ns = now_ns;
	} else if (!announcer->is_failing) {
		clv_log_warning(
			0, "cannot announce what is free on the node: %s", err.msg);
	}
	announcer->is_failing = r < 0;
}

static void *work(void *userdata)
{
	struct clv_kube_announcer *announcer = userdata;
	struct pollfd end = {.fd = announcer->end_fd, .events = POLLIN};

	do
		announce(announcer);
	while (poll(&end, 1, EVERY_MS) <= 0);
	return NULL;
}

int clv_kube_announcer_new(const struct clv_kube_settings *settings,
	struct clv_kube_announcer **ret, struct clv_error *err)
{
	struct clv_kube_announcer *announcer = calloc(1, sizeof(*announcer));
	int r;

	if (!announcer)
		return clv_error_errno(err, ENOMEM, "cannot start");
	announcer->settings = *settings;
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
