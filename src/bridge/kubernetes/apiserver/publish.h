/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

struct clv_error;
struct clv_kube_cluster;
struct json_t;

/* Makes the API server's ResourceSlices of this node and driver those with these specs:
 * all of them of one generation, changed only where they differ. */
int clv_kube_publish(struct clv_kube_cluster *cluster,
	const struct clv_kube_settings *settings, const struct json_t *specs,
	struct clv_error *err);

/* Whether this server wants counters in slices of their own. */
int clv_kube_publish_is_apart(
	struct clv_kube_cluster *cluster, bool *ret, struct clv_error *err);
