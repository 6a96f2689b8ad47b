/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;
struct clv_extender;

/* Tells the extender of the API server's nodes, and of the pods that are bound and have
 * not started; each in a thread of its own.  While the API server does not answer, the
 * extender keeps its last list, and the log says so. */
struct clv_nodes;

/* kubeconfig: NULL for the service account of the pod.  extender is borrowed. */
int clv_nodes_new(struct clv_extender *extender, const char *kubeconfig,
	struct clv_nodes **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_nodes *clv_nodes_free(struct clv_nodes *nodes);
