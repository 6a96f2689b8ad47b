/* SPDX-License-Identifier: Apache-2.0 */
/* The plugins of all resources, and restarts of kubelet: when kubelet starts, it removes
 * all sockets in its folder of device plugins and creates its own, so each plugin must
 * create its socket again and register. */
#include "bridge/kubernetes/kubelet/service.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bridge/kubernetes/kubelet/dra.h"
#include "bridge/kubernetes/kubelet/plugin.h"
#include "bridge/kubernetes/kubelet/status.h"
#include "bridge/kubernetes/resource/labels.h"
#include "bridge/kubernetes/resource/resource.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#define LOOK_US 1000000

/* --- Restarts of kubelet --- */

static void check_kubelet(struct clv_kube *kube)
{
	char path[CLV_KUBE_SOCKET_MAX];
	struct stat file = {};
	ino_t inode;
	bool is_new;

	clv_kube_path(kube, "device-plugins/kubelet.sock", path);
	inode = stat(path, &file) == 0 ? file.st_ino : 0;
	is_new = inode != 0 && inode != kube->kubelet_inode;
	/* Not the age of the socket, because a step of the wall clock changes that. */
	if (is_new)
		kube->kubelet_since_ns = clv_clock_ns();
	kube->kubelet_inode = inode;
	for (size_t i = 0; i < kube->n_plugins; i++)
		clv_kube_plugin_check(kube->plugins[i], inode != 0, is_new);
	if (kube->dra)
		clv_kube_dra_check(kube->dra);
}

/* --- Resources --- */

static struct clv_kube_plugin *find_plugin(struct clv_kube *kube, const char *name)
{
	for (size_t i = 0; i < kube->n_plugins; i++) {
		if (strcmp(kube->resources[i]->name, name) == 0)
			return kube->plugins[i];
	}
	return NULL;
}

static int add_plugin(struct clv_kube *kube, struct clv_kube_plugin *plugin)
{
	size_t n_resources = kube->n_plugins;
	const struct clv_kube_resource **resource =
		CLV_APPEND(kube->resources, n_resources);
	struct clv_kube_plugin **place =
		resource ? CLV_APPEND(kube->plugins, kube->n_plugins) : NULL;

	if (!place)
		return -ENOMEM;
	*place = plugin;
	*resource = clv_kube_plugin_resource(plugin);
	return 0;
}

static int set_resource(
	struct clv_kube *kube, struct clv_kube_resource *resource, struct clv_error *err)
{
	struct clv_kube_plugin *plugin = find_plugin(kube, resource->name);
	int r;

	if (plugin) {
		clv_kube_plugin_set(plugin, resource);
		return 0;
	}
	if (resource->kind == CLV_KUBE_OF_MEMORY)
		clv_log_info("a unit of %s is %" PRIu64 " MiB", resource->name,
			resource->unit_bytes >> 20);
	r = clv_kube_plugin_new(kube, resource, &plugin, err);
	if (r < 0)
		return r;
	r = add_plugin(kube, plugin);
	if (r < 0) {
		clv_kube_plugin_free(plugin);
		return clv_error_errno(err, -r, "cannot serve a resource");
	}
	return 0;
}

/* A resource without devices is still served, with an empty list: kubelet keeps counting
 * the devices of a resource that is no longer served. */
static void empty_missing(struct clv_kube *kube, const struct clv_kube_resources *now)
{
	for (size_t i = 0; i < kube->n_plugins; i++) {
		const struct clv_kube_resource *old = kube->resources[i];
		struct clv_kube_resource none = *old;
		bool is_there = false;

		for (size_t j = 0; j < now->n; j++)
			is_there = is_there || strcmp(now->items[j].name, old->name) == 0;
		none.sources = NULL;
		none.n = 0;
		if (!is_there)
			clv_kube_plugin_set(kube->plugins[i], &none);
	}
}

void clv_kube_set_inventory(struct clv_kube *kube, struct clv_kube_inventory *inventory)
{
	struct clv_kube_resources resources = {};
	struct clv_error err = {};
	int r;

	if (kube->has_inventory &&
		clv_kube_inventory_equals(&kube->inventory, inventory)) {
		clv_kube_inventory_clear(inventory);
		return;
	}
	inventory->serial = kube->inventory.serial + 1;
	clv_kube_inventory_clear(&kube->inventory);
	kube->inventory = *inventory;
	kube->has_inventory = true;
	*inventory = (struct clv_kube_inventory){};
	/* Devices are offered either by DRA or as extended resources, never by both. */
	r = kube->dra ? 0
		      : clv_kube_resources_make(
				&kube->inventory, &kube->settings, &resources, &err);
	if (r >= 0 && clv_kube_labels_write(
			      &kube->settings, &kube->inventory, &resources, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	if (r >= 0)
		empty_missing(kube, &resources);
	for (size_t i = 0; i < resources.n && r >= 0; i++)
		r = set_resource(kube, &resources.items[i], &err);
	if (r < 0)
		clv_log_error(r, "%s", err.msg);
	clv_kube_resources_clear(&resources);
	if (kube->dra)
		clv_kube_dra_publish(kube->dra);
	check_kubelet(kube);
}

/* --- Events --- */

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct clv_kube *kube = userdata;
	struct clv_error err = {};

	check_kubelet(kube);
	/* Probes fail when the file becomes old. */
	if (clv_kube_status_write(kube, &err) < 0)
		clv_log_debug("%s", err.msg);
	sd_event_source_set_time_relative(source, LOOK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* A file was created, renamed or removed; check_kubelet() finds out which. */
static int on_folder(
	sd_event_source *source, const struct inotify_event *event, void *userdata)
{
	check_kubelet(userdata);
	return 0;
}

int clv_kube_kubelet_watch(struct clv_kube *kube, struct clv_error *err)
{
	char path[CLV_KUBE_SOCKET_MAX];
	int r;

	clv_kube_path(kube, "device-plugins", path);
	/* Without the folder only the timer polls. */
	r = sd_event_add_inotify(kube->event, &kube->folder, path,
		IN_CREATE | IN_DELETE | IN_MOVED_TO, on_folder, kube);
	if (r < 0 && r != -ENOENT)
		return clv_error_errno(err, -r, "cannot watch %s", path);
	r = sd_event_add_time_relative(kube->event, &kube->timer, CLOCK_MONOTONIC, 0,
		LOOK_US / 10, on_timer, kube);
	return r < 0 ? clv_error_errno(err, -r, "cannot watch %s", path) : 0;
}

void clv_kube_kubelet_unwatch(struct clv_kube *kube)
{
	kube->folder = sd_event_source_disable_unref(kube->folder);
	kube->timer = sd_event_source_disable_unref(kube->timer);
}
