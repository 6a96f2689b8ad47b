/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"
#include "bridge/kubernetes/kubelet/worker.h"
#include "bridge/kubernetes/resource/inventory.h"

#include <systemd/sd-event.h>

struct clv_error;
struct clv_kube_announcer;
struct clv_kube_classes;
struct clv_kube_dra;
struct clv_kube_pair;
struct clv_kube_plugin;
struct clv_kube_pods;
struct clv_kube_resource;
struct clv_kube_watch;

/* The state of cleave-kubelet: settings, inventory and components.  Loop thread only. */
struct clv_kube {
	struct clv_kube_settings settings;
	sd_event *event;
	struct clv_kube_lease_sync *sync; /* used by jobs in the worker, see there */
	struct clv_kube_worker *worker; /* NULL once the program ends: no job is begun */
	struct clv_kube_inventory inventory;
	bool has_inventory;
	struct clv_kube_plugin **plugins; /* owned; one for each resource */
	const struct clv_kube_resource *
		*resources; /* of the plugins, in the same order */
	size_t n_plugins;
	struct clv_kube_pods *pods;
	struct clv_kube_watch *watch;
	bool is_agent_missing;                /* it has not answered for some time */
	struct clv_kube_dra *dra;             /* NULL: DRA is off */
	struct clv_kube_announcer *announcer; /* NULL: announcements are off */
	struct clv_kube_classes *classes;     /* NULL: classes of pods are off */
	ino_t kubelet_inode;                  /* of kubelet's socket; 0: there is none */
	uint64_t kubelet_since_ns;            /* when kubelet's socket was first seen */
	sd_event_source *folder, *timer;
	struct clv_kube_pair *pair; /* pairs calls for a share with calls for memory */
};

/* Makes a path in kubelet's folder. */
#define CLV_KUBE_SOCKET_MAX 512
void clv_kube_path(
	const struct clv_kube *kube, const char *name, char ret[CLV_KUBE_SOCKET_MAX]);
