/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/inventory.h"
#include "bridge/kubernetes/resource/resource.h"

struct clv_error;

/* Writes labels of the node to a file for node-feature-discovery: with names of cleave,
 * and with those of the vendors' tools that existing pods select nodes by.  Does nothing
 * if settings.labels is "". */
int clv_kube_labels_write(const struct clv_kube_settings *settings,
	const struct clv_kube_inventory *inventory,
	const struct clv_kube_resources *resources, struct clv_error *err);

/* The text of that file.  The caller frees it; NULL: out of memory. */
char *clv_kube_labels_make(const struct clv_kube_settings *settings,
	const struct clv_kube_inventory *inventory,
	const struct clv_kube_resources *resources);
