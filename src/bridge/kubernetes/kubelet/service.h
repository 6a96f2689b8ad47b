/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/kubelet/state.h"

struct clv_error;

/* Sets the inventory and takes ownership of its array; plugins, labels and slices are
 * updated if it differs. */
void clv_kube_set_inventory(struct clv_kube *kube, struct clv_kube_inventory *inventory);

/* Watches kubelet's socket: when kubelet has restarted, all plugins register again. */
int clv_kube_kubelet_watch(struct clv_kube *kube, struct clv_error *err);
void clv_kube_kubelet_unwatch(struct clv_kube *kube);
