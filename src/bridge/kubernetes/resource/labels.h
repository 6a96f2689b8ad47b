/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/inventory.h"
#include "bridge/kubernetes/resource/resource.h"

struct clv_error;

/* Labels of the node, in the file that node-feature-discovery reads them from, under the
 * names that GPU feature discovery gives them.  Nothing is written where the settings
 * name no folder. */
int clv_kube_labels_write(const struct clv_kube_settings *settings,
	const struct clv_kube_inventory *inventory,
	const struct clv_kube_resources *resources, struct clv_error *err);

/* The text, to be freed; NULL without memory. */
char *clv_kube_labels_make(const struct clv_kube_settings *settings,
	const struct clv_kube_inventory *inventory,
	const struct clv_kube_resources *resources);
