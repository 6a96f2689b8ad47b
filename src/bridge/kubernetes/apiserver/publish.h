/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

struct clv_error;
struct clv_kube_cluster;
struct json_t;

/* Replaces the ResourceSlices of this node and driver by slices with these specs, all of
 * one generation, unless they are equal.  Returns 1 if slices were written, 0 if they
 * were equal, -EOPNOTSUPP if the API server would drop their counters: then nothing is
 * written. */
int clv_kube_publish(struct clv_kube_cluster *cluster,
	const struct clv_kube_settings *settings, const struct json_t *specs,
	struct clv_error *err);

/* Whether this server requires counters in separate slices (Kubernetes 1.35 and newer).
 */
int clv_kube_publish_separates_counters(
	struct clv_kube_cluster *cluster, bool *ret, struct clv_error *err);
