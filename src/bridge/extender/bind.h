/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;

/* Binds pods to nodes in the API server (pods/binding, v1.Binding).  Any thread. */

/* kubeconfig: NULL for the service account of the pod. */
int clv_extender_binder_new(const char *kubeconfig, void **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
void *clv_extender_binder_free(void *binder);

int clv_extender_bind(void *binder, const char *namespace, const char *name,
	const char *uid, const char *node, const char *placed, struct clv_error *err);
