/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/slices.h"

struct clv_error;
struct clv_kube;
struct clv_kube_health;
struct clv_rpc_call;

/* Reports the health of devices that can be claimed to kubelet (its feature gate
 * ResourceHealthStatus): of all places of the node, also of those that are not published
 * because their GPU is unhealthy.  Loop thread only. */
int clv_kube_health_new(
	struct clv_kube *kube, struct clv_kube_health **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_health *clv_kube_health_free(struct clv_kube_health *health);

/* Sets the node's places; takes ownership of their array. */
void clv_kube_health_set(struct clv_kube_health *health, struct clv_kube_places *places);
/* Sends the current health to all watchers. */
void clv_kube_health_send(struct clv_kube_health *health);
/* Adds the call to the watchers, until it ends. */
void clv_kube_health_add(struct clv_kube_health *health, struct clv_rpc_call *call);
