/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the classes of leases by the annotations of pods.  A lease is known by its id,
 * because its name is that of all leases of the same ids. */
#include "bridge/kubernetes/lease/classes.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "bridge/kubernetes/apiserver/cluster.h"
#include "core/share/share.h"

#include <cleave.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define ID_MAX 64

struct id {
	char text[ID_MAX];
};

struct clv_kube_classes {
	struct clv_kube_settings settings;
	struct clv_kube_cluster *cluster; /* of the thread, like the next four */
	struct clv_client *client;        /* NULL: not connected */
	struct id *known;                 /* owned: leases that have their class */
	size_t n_known;
	bool is_failing;
	int end_fd; /* an eventfd */
	pthread_t thread;
	pthread_mutex_t lock; /* protects the following */
	pthread_cond_t changed;
	struct clv_kube_class_pod *pods; /* owned: the latest list; NULL: none */
	size_t n_pods;
	bool is_ending;
};

/* --- The leases that have their class --- */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static const json_t *find_by(const json_t *leases, const char *key, const char *text)
{
	const json_t *lease;
	size_t i;

	json_array_foreach (leases, i, lease) {
		if (strcmp(text_of(lease, key), text) == 0)
			return lease;
	}
	return NULL;
}

static bool is_known(const struct clv_kube_classes *classes, const char *id)
{
	for (size_t i = 0; i < classes->n_known; i++) {
		if (strcmp(classes->known[i].text, id) == 0)
			return true;
	}
	return false;
}

static void add_known(struct clv_kube_classes *classes, const char *id)
{
	struct id *place = CLV_APPEND(classes->known, classes->n_known);

	if (place)
		snprintf(place->text, ID_MAX, "%s", id);
}

static void forget_ended(struct clv_kube_classes *classes, const json_t *leases)
{
	for (size_t i = classes->n_known; i-- > 0;) {
		if (!find_by(leases, "id", classes->known[i].text))
			classes->known[i] = classes->known[--classes->n_known];
	}
}

/* --- The calls --- */

static int ask_agent(
	struct clv_kube_classes *classes, json_t **ret, struct clv_error *err)
{
	const char *socket = classes->settings.agent;
	struct clv_client_options options = {.socket_path = socket[0] ? socket : NULL,
		.interrupt_fd = classes->end_fd};
	struct clv_client_error why;
	int r = classes->client ? 0 : clv_client_new(&options, &classes->client, &why);

	if (r >= 0)
		r = clv_client_leases(classes->client, ret, &why);
	if (r >= 0)
		return 0;
	classes->client = clv_client_free(classes->client);
	return clv_error_set(err, r, "%.400s", why.msg);
}

/* The class in the pod's annotation, "" for none, also where the pod is gone. */
static int ask_class(struct clv_kube_classes *classes,
	const struct clv_kube_class_pod *pod, char ret[CLV_KUBE_CLASS_MAX],
	struct clv_error *err)
{
	char path[512];
	const char *class = "";
	json_t *object = NULL;
	int r;

	ret[0] = '\0';
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s", pod->namespace,
		pod->name);
	r = clv_kube_cluster_request(classes->cluster, "GET", path, NULL, &object, err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	json_unpack(object, "{s:{s:{s:s}}}", "metadata", "annotations",
		CLV_KUBE_CLASS_ANNOTATION, &class);
	if (class[0] && (int)clv_class_from_string(class) < 0)
		clv_log_warning(0,
			"pod %s/%s has the class '%.20s': latency, normal or batch is "
			"expected",
			pod->namespace, pod->name, class);
	else
		snprintf(ret, CLV_KUBE_CLASS_MAX, "%s", class);
	json_decref(object);
	return 0;
}

static int set_class(struct clv_kube_classes *classes, const json_t *lease,
	const char *class, struct clv_error *err)
{
	const struct clv_client_lease_change change = {.class_name = class};
	struct clv_client_error why;
	int r = clv_client_lease_update(
		classes->client, text_of(lease, "id"), &change, NULL, &why);

	if (r < 0 && strcmp(why.code, "not_found") != 0)
		return clv_error_set(err, r, "%.400s", why.msg);
	return 0;
}

/* Each lease of the list that is not known. */
static int set_classes(struct clv_kube_classes *classes,
	const struct clv_kube_class_pod *pods, size_t n, const json_t *leases,
	struct clv_error *err)
{
	char class[CLV_KUBE_CLASS_MAX];
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		const json_t *lease = find_by(leases, "name", pods[i].lease);

		if (!lease || is_known(classes, text_of(lease, "id")))
			continue;
		r = ask_class(classes, &pods[i], class, err);
		if (r >= 0 && class[0] && strcmp(text_of(lease, "class"), class) != 0)
			r = set_class(classes, lease, class, err);
		if (r >= 0)
			add_known(classes, text_of(lease, "id"));
	}
	return r;
}

static void compare(
	struct clv_kube_classes *classes, const struct clv_kube_class_pod *pods, size_t n)
{
	struct clv_error err = {};
	json_t *answer = NULL, *leases;
	int r = ask_agent(classes, &answer, &err);

	if (r >= 0) {
		leases = json_object_get(answer, "items");
		forget_ended(classes, leases);
		r = set_classes(classes, pods, n, leases, &err);
	}
	json_decref(answer);
	if (r < 0 && !classes->is_failing)
		clv_log_warning(0, "classes of leases cannot be set: %s", err.msg);
	classes->is_failing = r < 0;
}

/* --- The thread --- */

/* Waits for a list.  Returns false at the end. */
static bool take_list(struct clv_kube_classes *classes,
	struct clv_kube_class_pod **ret_pods, size_t *ret_n)
{
	bool is_ending;

	pthread_mutex_lock(&classes->lock);
	while (!classes->pods && !classes->is_ending)
		pthread_cond_wait(&classes->changed, &classes->lock);
	is_ending = classes->is_ending;
	*ret_pods = CLV_TAKE(classes->pods);
	*ret_n = classes->n_pods;
	pthread_mutex_unlock(&classes->lock);
	return !is_ending;
}

static void *work(void *userdata)
{
	struct clv_kube_classes *classes = userdata;
	struct clv_kube_class_pod *pods;
	size_t n;

	while (take_list(classes, &pods, &n)) {
		compare(classes, pods, n);
		free(pods);
	}
	free(pods);
	return NULL;
}

void clv_kube_classes_list(
	struct clv_kube_classes *classes, struct clv_kube_class_pod *pods, size_t n)
{
	pthread_mutex_lock(&classes->lock);
	free(classes->pods);
	classes->pods = pods;
	classes->n_pods = n;
	pthread_cond_signal(&classes->changed);
	pthread_mutex_unlock(&classes->lock);
}

static void release(struct clv_kube_classes *classes)
{
	clv_client_free(classes->client);
	clv_kube_cluster_free(classes->cluster);
	clv_close_fd(&classes->end_fd);
	pthread_mutex_destroy(&classes->lock);
	pthread_cond_destroy(&classes->changed);
	free(classes->known);
	free(classes->pods);
	free(classes);
}

int clv_kube_classes_new(const struct clv_kube_settings *settings,
	struct clv_kube_classes **ret, struct clv_error *err)
{
	struct clv_kube_classes *classes = calloc(1, sizeof(*classes));
	int r;

	if (!classes)
		return clv_error_errno(err, ENOMEM, "cannot start");
	classes->settings = *settings;
	pthread_mutex_init(&classes->lock, NULL);
	pthread_cond_init(&classes->changed, NULL);
	classes->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = classes->end_fd < 0 ? clv_error_errno(err, errno, "cannot start")
				: clv_kube_cluster_new(settings, &classes->cluster, err);
	if (r >= 0) {
		r = -pthread_create(&classes->thread, NULL, work, classes);
		if (r < 0)
			clv_error_errno(err, -r, "cannot start a thread");
	}
	if (r < 0) {
		release(classes);
		return r;
	}
	*ret = classes;
	return 0;
}

struct clv_kube_classes *clv_kube_classes_free(struct clv_kube_classes *classes)
{
	if (!classes)
		return NULL;
	eventfd_write(classes->end_fd, 1);
	pthread_mutex_lock(&classes->lock);
	classes->is_ending = true;
	pthread_cond_signal(&classes->changed);
	pthread_mutex_unlock(&classes->lock);
	pthread_join(classes->thread, NULL);
	release(classes);
	return NULL;
}
