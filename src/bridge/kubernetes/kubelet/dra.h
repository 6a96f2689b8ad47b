/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;
struct clv_kube;
struct clv_kube_dra;

/* The driver of dynamic resource allocation: the socket that kubelet finds it by, the one
 * that it speaks to, and the slices that the scheduler reads.  Loop thread only. */
int clv_kube_dra_new(
	struct clv_kube *kube, struct clv_kube_dra **ret, struct clv_error *err);
/* After the worker.  Accepts NULL; returns NULL. */
struct clv_kube_dra *clv_kube_dra_free(struct clv_kube_dra *dra);

/* The node has changed. */
void clv_kube_dra_publish(struct clv_kube_dra *dra);
/* Makes sockets anew that are gone. */
void clv_kube_dra_look(struct clv_kube_dra *dra);
