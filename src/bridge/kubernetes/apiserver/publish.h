/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

struct clv_error;
struct clv_kube_cluster;
struct json_t;

/* Fields of devices that an API server without their feature gate drops. */
enum clv_kube_gated {
	CLV_KUBE_GATED_COUNTERS, /* DRAPartitionableDevices: alpha in 1.33, on in 1.36 */
	CLV_KUBE_GATED_TAINTS,   /* DRADeviceTaints: the same */
	_CLV_KUBE_GATED_MAX,
};

/* Replaces the ResourceSlices of this node and driver by slices with these specs (in the
 * form of v1), all of one generation, unless they are equal.  Returns 1 if slices were
 * written, 0 if they were equal, -EOPNOTSUPP if the API server would drop fields: then
 * nothing is written, and *ret_lost has bits of enum clv_kube_gated. */
int clv_kube_publish(struct clv_kube_cluster *cluster,
	const struct clv_kube_settings *settings, const struct json_t *specs,
	unsigned *ret_lost, struct clv_error *err);

/* Whether this server requires counters in separate slices (Kubernetes 1.35 and newer).
 */
int clv_kube_publish_separates_counters(
	struct clv_kube_cluster *cluster, bool *ret, struct clv_error *err);
