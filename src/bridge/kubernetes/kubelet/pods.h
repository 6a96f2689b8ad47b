/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/desired.h"

#include <stdbool.h>

struct clv_error;
struct clv_kube;

/* A client of kubelet's pod-resources API, which lists the ids of all containers.  The
 * list is compared with the ledger at intervals, and searched for one container on
 * request. Loop thread only. */
struct clv_kube_pods;

int clv_kube_pods_new(
	struct clv_kube *kube, struct clv_kube_pods **ret, struct clv_error *err);
/* Pending callbacks are not called.  Accepts NULL; returns NULL. */
struct clv_kube_pods *clv_kube_pods_free(struct clv_kube_pods *pods);

/* Compares with the ledger now instead of at the end of the interval. */
void clv_kube_pods_reconcile_now(struct clv_kube_pods *pods);

/* Whether a container of this node may have leases whose gates cannot be loaded together.
 */
bool clv_kube_pods_may_conflict(const struct clv_kube *kube);

/* Finds the container whose ids of the resource make the lease of that name, and calls
 * on_container with that lease, for a share or memory with the other of the two, which
 * the callback may take, or with err (else NULL).  -ENOENT: kubelet lists no such
 * container, as for each init container; -EXDEV: the container has leases whose gates
 * cannot be loaded together.  The callback may run before the function returns. */
typedef void (*clv_kube_on_container)(
	struct clv_kube_desired *desired, const struct clv_error *err, void *userdata);
void clv_kube_pods_find(struct clv_kube_pods *pods, const char *resource,
	const char *lease, clv_kube_on_container on_container, void *userdata);
