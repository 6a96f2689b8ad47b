/* SPDX-License-Identifier: Apache-2.0 */
/* Posts v1.Binding objects to the API server, which adds their annotations to the pods.
 */
#include "bridge/extender/bind.h"

#include "base/error.h"
#include "bridge/extender/places.h"
#include "bridge/kubernetes/apiserver/cluster.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct binder {
	pthread_mutex_t lock; /* protects cluster */
	struct clv_kube_cluster *cluster;
};

int clv_extender_binder_new(const char *kubeconfig, void **ret, struct clv_error *err)
{
	struct clv_kube_settings settings;
	struct binder *binder = calloc(1, sizeof(*binder));
	int r;

	if (!binder)
		return clv_error_errno(err, ENOMEM, "cannot start");
	clv_kube_settings_init(&settings);
	snprintf(settings.kubeconfig, sizeof(settings.kubeconfig), "%s",
		kubeconfig ? kubeconfig : "");
	r = clv_kube_cluster_new(&settings, &binder->cluster, err);
	if (r < 0) {
		free(binder);
		return r;
	}
	pthread_mutex_init(&binder->lock, NULL);
	*ret = binder;
	return 0;
}

void *clv_extender_binder_free(void *userdata)
{
	struct binder *binder = userdata;

	if (!binder)
		return NULL;
	clv_kube_cluster_free(binder->cluster);
	pthread_mutex_destroy(&binder->lock);
	free(binder);
	return NULL;
}

int clv_extender_bind(void *userdata, const char *namespace, const char *name,
	const char *uid, const char *node, const char *placed, struct clv_error *err)
{
	struct binder *binder = userdata;
	json_t *body = json_pack("{s:s,s:s,s:{s:s,s:s,s:s,s:{s:s}},s:{s:s,s:s,s:s}}",
		"apiVersion", "v1", "kind", "Binding", "metadata", "name", name,
		"namespace", namespace, "uid", uid, "annotations",
		CLV_PLACES_POD_ANNOTATION, placed, "target", "apiVersion", "v1", "kind",
		"Node", "name", node);
	char path[640];
	int r;

	if (!body)
		return clv_error_set(err, -EINVAL, "the pod's names are not UTF-8");
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s/binding", namespace,
		name);
	pthread_mutex_lock(&binder->lock);
	r = clv_kube_cluster_request(binder->cluster, "POST", path, body, NULL, err);
	pthread_mutex_unlock(&binder->lock);
	json_decref(body);
	return r;
}
