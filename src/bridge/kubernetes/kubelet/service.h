/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/kubelet/state.h"

struct clv_error;

/* Takes a new inventory: the plugins tell kubelet. */
void clv_kube_take_inventory(struct clv_kube *kube, struct clv_kube_inventory *inventory);

/* Watches kubelet's folder: when kubelet is there anew, all plugins register anew. */
int clv_kube_kubelet_watch(struct clv_kube *kube, struct clv_error *err);
void clv_kube_kubelet_unwatch(struct clv_kube *kube);
