/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_error;
struct clv_kube;
struct clv_kube_resource;

/* A device plugin: one resource, on a socket of its own, as kubelet knows it. */
struct clv_kube_plugin;

/* resource's sources are taken over. */
int clv_kube_plugin_new(struct clv_kube *kube, struct clv_kube_resource *resource,
	struct clv_kube_plugin **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_plugin *clv_kube_plugin_free(struct clv_kube_plugin *plugin);

const struct clv_kube_resource *clv_kube_plugin_resource(
	const struct clv_kube_plugin *plugin);

/* What there is of it now; the sources are taken over.  Kubelet is told if it differs. */
void clv_kube_plugin_take(
	struct clv_kube_plugin *plugin, struct clv_kube_resource *resource);

/* Whether kubelet is there, and not the one from before: makes the socket anew if it is
 * gone, and registers where that is due. */
void clv_kube_plugin_look(struct clv_kube_plugin *plugin, bool is_there, bool is_new);
