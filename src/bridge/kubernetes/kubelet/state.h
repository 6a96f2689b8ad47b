/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"
#include "bridge/kubernetes/kubelet/worker.h"
#include "bridge/kubernetes/resource/inventory.h"

#include <systemd/sd-event.h>

struct clv_error;
struct clv_kube_announcer;
struct clv_kube_dra;
struct clv_kube_pair;
struct clv_kube_plugin;
struct clv_kube_pods;
struct clv_kube_resource;
struct clv_kube_watch;

/* What the parts of cleave-kubelet share: settings, inventory, and the parts themselves.
 * Loop thread only. */
struct clv_kube {
	struct clv_kube_settings settings;
	sd_event *event;
	struct clv_kube_lease_sync *sync; /* the worker's */
	struct clv_kube_worker *worker;
	struct clv_kube_inventory inventory;
	bool has_inventory;
	struct clv_kube_plugin **plugins;           /* one for each resource */
	const struct clv_kube_resource **resources; /* theirs, in the same order */
	size_t n_plugins;
	struct clv_kube_pods *pods;
	struct clv_kube_watch *watch;
	struct clv_kube_dra *dra;             /* or NULL */
	struct clv_kube_announcer *announcer; /* NULL: it does not */
	ino_t kubelet_inode; /* of its socket when the plugins were told to register */
	uint64_t kubelet_since_ns;
	sd_event_source *folder, *timer;
	/* Containers that ask for a share and for memory, each in a call of its own. */
	struct clv_kube_pair *pair;
};

/* A path in kubelet's folder. */
#define CLV_KUBE_SOCKET_MAX 512
void clv_kube_path(
	const struct clv_kube *kube, const char *name, char ret[CLV_KUBE_SOCKET_MAX]);
