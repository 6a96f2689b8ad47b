/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

struct clv_error;
struct json_t;

/* A client of the cluster's API server.  It uses the kubeconfig of the settings, or
 * without one the service account of the pod.  One thread at a time. */
struct clv_kube_cluster;

int clv_kube_cluster_new(const struct clv_kube_settings *settings,
	struct clv_kube_cluster **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_cluster *clv_kube_cluster_free(struct clv_kube_cluster *cluster);

/* Sends a request.  body may be NULL; the caller owns *ret, and ret may be NULL. -ENOENT:
 * 404 for an object; -EEXIST: 409; -EPERM: 401 or 403; -EPROTO: another status, or an
 * answer that is not JSON; -EAGAIN: the server cannot be reached. */
int clv_kube_cluster_request(struct clv_kube_cluster *cluster, const char *method,
	const char *path, const struct json_t *body, struct json_t **ret,
	struct clv_error *err);
