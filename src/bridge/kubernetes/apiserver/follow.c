/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol of Kubernetes' watches: a list has a version, and a watch tells the
 * changes from a version on.  A server keeps versions for some minutes; for an older one
 * it answers 410, and only a new list helps. */
#include "bridge/kubernetes/apiserver/follow.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/kubernetes/apiserver/cluster.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define PAGE 500
/* The server ends a watch after this time, and one that does not is broken off. */
#define WATCH_S 300
#define LATE_S 30
/* A server sends a bookmark each minute. */
#define SILENT_S 150
#define AGAIN_LEAST_MS 500
#define AGAIN_MOST_MS 8000
#define PATH_MAX_BYTES 4096

#define METADATA(kind)                                     \
	"application/json;as=" kind ";g=meta.k8s.io;v=v1," \
	"application/json"

struct clv_kube_follower {
	struct clv_kube_follower_options options;
	struct clv_kube_cluster *cluster;
	char version[64]; /* of the newest change or bookmark; "": a list is needed */
	bool has_heard;   /* in this watch */
	bool is_failing, was_told;
	int again_ms;
	pthread_t thread;
	int end_fd;
};

static const char *version_of(const json_t *object)
{
	return json_string_value(
		json_object_get(json_object_get(object, "metadata"), "resourceVersion"));
}

static void set_version(struct clv_kube_follower *follower, const char *version)
{
	snprintf(follower->version, sizeof(follower->version), "%s",
		version ? version : "");
}

static void tell(struct clv_kube_follower *follower, const char *why)
{
	bool is_failing = why != NULL;

	if (follower->was_told && follower->is_failing == is_failing)
		return;
	follower->was_told = true;
	follower->is_failing = is_failing;
	follower->options.ops->tell(follower->options.userdata, why);
}

/* --- Lists --- */

static int read_page(struct clv_kube_follower *follower, const char *from, json_t **ret,
	struct clv_error *err)
{
	const struct clv_kube_follower_options *options = &follower->options;
	char path[PATH_MAX_BYTES];
	int n = snprintf(path, sizeof(path), "%s?limit=%d%s%s%s%s", options->path, PAGE,
		options->fields ? "&fieldSelector=" : "",
		options->fields ? options->fields : "", from[0] ? "&continue=" : "",
		from);

	if (n >= (int)sizeof(path))
		return clv_error_set(
			err, -EPROTO, "the API server's list cannot be continued");
	clv_kube_cluster_accept(follower->cluster,
		options->is_metadata ? METADATA("PartialObjectMetadataList") : NULL);
	return clv_kube_cluster_request(follower->cluster, "GET", path, NULL, ret, err);
}

static void take_page(struct clv_kube_follower *follower, const json_t *page)
{
	const json_t *object;
	size_t i;

	json_array_foreach (json_object_get(page, "items"), i, object)
		follower->options.ops->take(
			follower->options.userdata, CLV_KUBE_LISTED, object);
}

static int list(struct clv_kube_follower *follower, struct clv_error *err)
{
	const struct clv_kube_follower_ops *ops = follower->options.ops;
	char from[PATH_MAX_BYTES / 2] = "";
	const char *next;
	json_t *page = NULL;
	int r;

	ops->begin_list(follower->options.userdata);
	do {
		r = read_page(follower, from, &page, err);
		if (r < 0) {
			/* The versions of the pages before it are not of a whole list. */
			set_version(follower, NULL);
			return r;
		}
		take_page(follower, page);
		set_version(follower, version_of(page));
		next = json_string_value(
			json_object_get(json_object_get(page, "metadata"), "continue"));
		snprintf(from, sizeof(from), "%s", next ? next : "");
		json_decref(page);
	} while (from[0]);
	ops->end_list(follower->options.userdata);
	return 0;
}

/* --- Watches --- */

static int read_error(const json_t *status, struct clv_error *err)
{
	const char *message = json_string_value(json_object_get(status, "message"));
	json_int_t code = json_integer_value(json_object_get(status, "code"));

	return clv_error_set(err, code == 410 ? -ESTALE : -EPROTO,
		"the API server ends the watch with %d: %.300s", (int)code,
		message ? message : "no message");
}

static int take_event(void *userdata, const json_t *event, struct clv_error *err)
{
	struct clv_kube_follower *follower = userdata;
	const char *type = json_string_value(json_object_get(event, "type"));
	const json_t *object = json_object_get(event, "object");

	if (!event) {
		tell(follower, NULL);
		return 0;
	}
	if (type && strcmp(type, "ERROR") == 0)
		return read_error(object, err);
	if (!type || !version_of(object))
		return clv_error_set(
			err, -EPROTO, "the API server sent an event without a version");
	if (strcmp(type, "BOOKMARK") != 0)
		follower->options.ops->take(follower->options.userdata,
			strcmp(type, "DELETED") == 0 ? CLV_KUBE_DELETED
						     : CLV_KUBE_CHANGED,
			object);
	set_version(follower, version_of(object));
	follower->has_heard = true;
	return 0;
}

static int watch(struct clv_kube_follower *follower, struct clv_error *err)
{
	const struct clv_kube_follower_options *options = &follower->options;
	char path[PATH_MAX_BYTES];
	int r;

	snprintf(path, sizeof(path),
		"%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d&"
		"resourceVersion=%s%s%s",
		options->path, WATCH_S, follower->version,
		options->fields ? "&fieldSelector=" : "",
		options->fields ? options->fields : "");
	clv_kube_cluster_accept(follower->cluster,
		options->is_metadata ? METADATA("PartialObjectMetadata") : NULL);
	follower->has_heard = false;
	r = clv_kube_cluster_watch(follower->cluster, path, WATCH_S + LATE_S, SILENT_S,
		take_event, follower, err);
	/* A server whose data were restored from a copy waits for the version that it
	 * once had.  Where it sent not even a bookmark, only a list shows the state. */
	if (r == -ESTALE || r == -ETIME || (r == 0 && !follower->has_heard))
		set_version(follower, NULL);
	return r == -ESTALE || r == -ETIME ? 0 : r;
}

/* --- The thread --- */

/* Returns whether the thread goes on. */
static bool pause_for(struct clv_kube_follower *follower, int ms)
{
	struct pollfd end = {.fd = follower->end_fd, .events = POLLIN};

	return poll(&end, 1, ms) <= 0;
}

static int follow_once(struct clv_kube_follower *follower, struct clv_error *err)
{
	if (!follower->version[0]) {
		int r = list(follower, err);

		if (r < 0)
			return r;
	}
	return watch(follower, err);
}

static void *work(void *userdata)
{
	struct clv_kube_follower *follower = userdata;
	int wait_ms;

	do {
		struct clv_error err = {};
		int r = follow_once(follower, &err);

		if (r < 0 && r != -ECANCELED)
			tell(follower, err.msg);
		/* An answer of a broken server must not lead to a busy loop either. */
		wait_ms = follower->again_ms;
		follower->again_ms = r < 0 && 2 * wait_ms <= AGAIN_MOST_MS ? 2 * wait_ms
				     : r < 0                               ? AGAIN_MOST_MS
					     : AGAIN_LEAST_MS;
	} while (pause_for(follower, wait_ms));
	return NULL;
}

int clv_kube_follower_new(const struct clv_kube_settings *settings,
	const struct clv_kube_follower_options *options, struct clv_kube_follower **ret,
	struct clv_error *err)
{
	struct clv_kube_follower *follower = calloc(1, sizeof(*follower));
	int r;

	if (!follower)
		return clv_error_errno(err, ENOMEM, "cannot start");
	follower->options = *options;
	follower->again_ms = AGAIN_LEAST_MS;
	follower->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = follower->end_fd < 0 ? clv_error_errno(err, errno, "cannot start") : 0;
	if (r >= 0)
		r = clv_kube_cluster_new(settings, &follower->cluster, err);
	if (r >= 0) {
		r = -pthread_create(&follower->thread, NULL, work, follower);
		if (r < 0)
			clv_error_errno(err, -r, "cannot start a thread");
	}
	if (r < 0) {
		clv_kube_cluster_free(follower->cluster);
		clv_close_fd(&follower->end_fd);
		free(follower);
		return r;
	}
	*ret = follower;
	return 0;
}

struct clv_kube_follower *clv_kube_follower_free(struct clv_kube_follower *follower)
{
	if (!follower)
		return NULL;
	eventfd_write(follower->end_fd, 1);
	clv_kube_cluster_interrupt(follower->cluster);
	pthread_join(follower->thread, NULL);
	clv_kube_cluster_free(follower->cluster);
	clv_close_fd(&follower->end_fd);
	free(follower);
	return NULL;
}
