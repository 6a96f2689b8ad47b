/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

struct clv_error;
struct json_t;

/* The cluster's API server: from inside a pod by what Kubernetes mounts there, else by a
 * kubeconfig.  One thread at a time. */
struct clv_kube_cluster;

int clv_kube_cluster_new(const struct clv_kube_settings *settings,
	struct clv_kube_cluster **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_cluster *clv_kube_cluster_free(struct clv_kube_cluster *cluster);

/* A request and its answer; body may be NULL, and *ret is the caller's.  -ENOENT: 404;
 * -EEXIST: 409; -EPERM: 401 and 403; -EPROTO: any other refusal, with the server's words.
 */
int clv_kube_cluster_ask(struct clv_kube_cluster *cluster, const char *method,
	const char *path, const struct json_t *body, struct json_t **ret,
	struct clv_error *err);
