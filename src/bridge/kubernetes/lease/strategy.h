/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

/* By which parts of the answer to kubelet a container of this node gets its lease: by the
 * setting, else by the versions of kubelet and of the container runtime that the API
 * server has of the node.  Zero-initialized; one thread at a time. */
struct clv_kube_strategy {
	unsigned ways;
	uint64_t next_ns; /* when the API server is asked again */
};

/* Returns flags of enum clv_kube_way.  Asks the API server at most every few minutes. */
unsigned clv_kube_strategy_ways(
	struct clv_kube_strategy *strategy, const struct clv_kube_settings *settings);

/* The choice for versions such as "v1.29.3" and "containerd://1.7.13", as in the status
 * of a node.  NULL or another form: not known. */
unsigned clv_kube_strategy_choose(const char *kubelet, const char *runtime);
