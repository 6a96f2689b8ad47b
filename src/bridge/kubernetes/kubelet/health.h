/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/slices.h"

struct clv_error;
struct clv_kube;
struct clv_kube_health;
struct clv_rpc_call;

/* What kubelet is told of the health of devices that are claimed (its gate
 * ResourceHealthStatus): of each place that the node has, also of those that are not
 * published because something is wrong with their GPU.  Loop thread only. */
int clv_kube_health_new(
	struct clv_kube *kube, struct clv_kube_health **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_health *clv_kube_health_free(struct clv_kube_health *health);

/* The places that there are; taken over. */
void clv_kube_health_take(struct clv_kube_health *health, struct clv_kube_places *places);
/* The inventory has changed. */
void clv_kube_health_tell(struct clv_kube_health *health);
/* Whoever calls is told from now on. */
void clv_kube_health_add(struct clv_kube_health *health, struct clv_rpc_call *call);
