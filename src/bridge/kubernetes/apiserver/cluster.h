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
 * 404 for an object; -EEXIST: 409; -EPERM: 401 or 403; -ESTALE: 410, a version that the
 * server no longer has; -EPROTO: another status, or an answer that is not JSON; -EAGAIN:
 * the server cannot be reached; -ECANCELED: clv_kube_cluster_interrupt() was called. */
int clv_kube_cluster_request(struct clv_kube_cluster *cluster, const char *method,
	const char *path, const struct json_t *body, struct json_t **ret,
	struct clv_error *err);

/* Reads the node's own object, by a connection of its own.  The caller owns *ret.  Errors
 * as above. */
int clv_kube_cluster_get_node(const struct clv_kube_settings *settings,
	struct json_t **ret, struct clv_error *err);

/* Takes one event of a watch, or NULL once the server has taken the watch.  event is
 * borrowed.  A negative value ends the watch. */
typedef int (*clv_kube_event_fn)(
	void *userdata, const struct json_t *event, struct clv_error *err);

/* Watches a collection by a path with "watch=1": calls take for each event, from this
 * thread, until the server ends its answer.  Returns 0 then, or an error as above, or
 * what take returned.  most_s: a longer answer is broken off, and so is one of which
 * nothing came for silent_s seconds, with -ETIME. */
int clv_kube_cluster_watch(struct clv_kube_cluster *cluster, const char *path,
	unsigned most_s, unsigned silent_s, clv_kube_event_fn take, void *userdata,
	struct clv_error *err);

/* The media types of the answers to all requests from now on; borrowed.  NULL: JSON. */
void clv_kube_cluster_accept(struct clv_kube_cluster *cluster, const char *types);

/* Ends the request in progress within about a second, and every later one.  Any thread.
 */
void clv_kube_cluster_interrupt(struct clv_kube_cluster *cluster);
