/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/want.h"

struct clv_error;
struct clv_kube;

/* What kubelet says that containers have: its pod-resources API, asked now and then and
 * compared with the ledger, and asked about one container.  Loop thread only. */
struct clv_kube_pods;

int clv_kube_pods_new(
	struct clv_kube *kube, struct clv_kube_pods **ret, struct clv_error *err);
/* Who waits for an answer is not told.  Accepts NULL; returns NULL. */
struct clv_kube_pods *clv_kube_pods_free(struct clv_kube_pods *pods);

/* Looks as soon as may be, and not only when it is time. */
void clv_kube_pods_look(struct clv_kube_pods *pods);

/* The lease of the container that has this id of the resource; the want may be taken.
 * err is NULL where there is one. */
typedef void (*clv_kube_on_container)(
	struct clv_kube_want *want, const struct clv_error *err, void *userdata);
void clv_kube_pods_find(struct clv_kube_pods *pods, const char *resource, const char *id,
	clv_kube_on_container on_container, void *userdata);
