/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the API server which section of the settings the node has. */
#include "bridge/kubernetes/apiserver/section.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "bridge/kubernetes/apiserver/cluster.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

/* As often as kubelet's pods are compared three times: 30 s by default. */
#define INTERVALS 3

struct clv_kube_section_watch {
	struct clv_kube_settings settings;
	char name[CLV_KUBE_NAME_MAX];
	int changed_fd; /* borrowed */
	int end_fd;
	pthread_t thread;
};

static int ask(const struct clv_kube_settings *settings, char ret[CLV_KUBE_NAME_MAX],
	struct clv_error *err)
{
	const char *name = "";
	json_t *node = NULL;
	int r = clv_kube_cluster_get_node(settings, &node, err);

	if (r < 0)
		return r;
	json_unpack(node, "{s:{s:{s:s}}}", "metadata", "labels", CLV_KUBE_SECTION_LABEL,
		&name);
	snprintf(ret, CLV_KUBE_NAME_MAX, "%s", name);
	json_decref(node);
	return 0;
}

static void path_of_last(
	const struct clv_kube_settings *settings, char ret[CLV_KUBE_PATH_MAX + 16])
{
	snprintf(ret, CLV_KUBE_PATH_MAX + 16, "%s.section", settings->status);
}

static void keep_last(const struct clv_kube_settings *settings, const char *name)
{
	char path[CLV_KUBE_PATH_MAX + 16];
	struct clv_error err = {};

	path_of_last(settings, path);
	if (settings->status[0] && clv_file_replace(path, name, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
}

static int read_last(
	const struct clv_kube_settings *settings, char ret[CLV_KUBE_NAME_MAX])
{
	char path[CLV_KUBE_PATH_MAX + 16];
	_cleanup_free_ char *text = NULL;
	int r;

	path_of_last(settings, path);
	if (!settings->status[0])
		return -ENOENT;
	r = clv_file_read_all(path, CLV_KUBE_NAME_MAX - 1, &text, NULL, NULL);
	if (r >= 0)
		snprintf(ret, CLV_KUBE_NAME_MAX, "%s", text);
	return r;
}

int clv_kube_section_ask(const struct clv_kube_settings *settings,
	char ret[CLV_KUBE_NAME_MAX], struct clv_error *err)
{
	struct clv_error why = {};
	int r = ask(settings, ret, &why);

	if (r >= 0) {
		keep_last(settings, ret);
		return 0;
	}
	if (read_last(settings, ret) >= 0) {
		clv_log_warning(0,
			"the node's label %s is taken to be '%s' as before: %s",
			CLV_KUBE_SECTION_LABEL, ret, why.msg);
		return 0;
	}
	return clv_error_set(err, r,
		"the node's label " CLV_KUBE_SECTION_LABEL " cannot be read: %.400s",
		why.msg);
}

static void *work(void *userdata)
{
	struct clv_kube_section_watch *watch = userdata;
	struct pollfd end = {.fd = watch->end_fd, .events = POLLIN};
	int interval_ms = (int)watch->settings.reconcile_ms * INTERVALS;
	char name[CLV_KUBE_NAME_MAX];

	while (poll(&end, 1, interval_ms) <= 0) {
		if (ask(&watch->settings, name, NULL) < 0 ||
			strcmp(name, watch->name) == 0)
			continue;
		keep_last(&watch->settings, name);
		eventfd_write(watch->changed_fd, 1);
		return NULL;
	}
	return NULL;
}

int clv_kube_section_watch_new(const struct clv_kube_settings *settings, const char *name,
	int changed_fd, struct clv_kube_section_watch **ret, struct clv_error *err)
{
	struct clv_kube_section_watch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch)
		return clv_error_errno(err, ENOMEM, "cannot start");
	watch->settings = *settings;
	snprintf(watch->name, sizeof(watch->name), "%s", name);
	watch->changed_fd = changed_fd;
	watch->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = watch->end_fd < 0 ? -errno
			      : -pthread_create(&watch->thread, NULL, work, watch);
	if (r < 0) {
		clv_close_fd(&watch->end_fd);
		free(watch);
		return clv_error_errno(err, -r, "cannot start a thread");
	}
	*ret = watch;
	return 0;
}

struct clv_kube_section_watch *clv_kube_section_watch_free(
	struct clv_kube_section_watch *watch)
{
	if (!watch)
		return NULL;
	eventfd_write(watch->end_fd, 1);
	pthread_join(watch->thread, NULL);
	clv_close_fd(&watch->end_fd);
	free(watch);
	return NULL;
}
