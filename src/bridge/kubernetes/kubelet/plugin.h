/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_error;
struct clv_kube;
struct clv_kube_resource;

/* A device plugin: the service for one resource, on its own socket.  Loop thread only. */
struct clv_kube_plugin;

/* Takes ownership of the resource's sources. */
int clv_kube_plugin_new(struct clv_kube *kube, struct clv_kube_resource *resource,
	struct clv_kube_plugin **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_plugin *clv_kube_plugin_free(struct clv_kube_plugin *plugin);

const struct clv_kube_resource *clv_kube_plugin_resource(
	const struct clv_kube_plugin *plugin);

/* Whether kubelet watches the resource's devices. */
bool clv_kube_plugin_is_registered(const struct clv_kube_plugin *plugin);

/* Sets the resource's current sources, and takes ownership of them.  Kubelet gets the new
 * list if it differs. */
void clv_kube_plugin_set(
	struct clv_kube_plugin *plugin, struct clv_kube_resource *resource);

/* Creates the socket again if it was removed, and registers with kubelet if necessary.
 * is_there: kubelet's socket exists; is_new: kubelet was restarted. */
void clv_kube_plugin_check(struct clv_kube_plugin *plugin, bool is_there, bool is_new);
