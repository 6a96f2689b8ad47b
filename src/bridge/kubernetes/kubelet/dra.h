/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_error;
struct clv_kube;
struct clv_kube_dra;

/* The driver of dynamic resource allocation: its registration socket, its service for
 * kubelet, and the ResourceSlices that the scheduler reads.  Loop thread only. */
int clv_kube_dra_new(
	struct clv_kube *kube, struct clv_kube_dra **ret, struct clv_error *err);
/* To be freed after the worker, whose jobs use it.  Accepts NULL; returns NULL. */
struct clv_kube_dra *clv_kube_dra_free(struct clv_kube_dra *dra);

/* Whether kubelet has accepted the driver. */
bool clv_kube_dra_is_registered(const struct clv_kube_dra *dra);

/* Publishes slices and health; to be called when the inventory has changed. */
void clv_kube_dra_publish(struct clv_kube_dra *dra);
/* Creates sockets again that were removed. */
void clv_kube_dra_check(struct clv_kube_dra *dra);
