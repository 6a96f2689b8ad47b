/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the health of all places to each watching call, when it changes and every ten
 * seconds. */
#include "bridge/kubernetes/kubelet/health.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "bridge/kubernetes/dra.pb-c.h"
#include "bridge/kubernetes/kubelet/state.h"
#include "bridge/rpc/service.h"

#include <errno.h>
#include <stdlib.h>

/* Kubelet regards health as unknown after half a minute (DefaultHealthTimeout in
 * pkg/kubelet/cm/dra), newer versions after health_check_timeout_seconds. */
#define TELL_US 10000000u
#define TIMEOUT_S 30

enum health { UNKNOWN, HEALTHY, UNHEALTHY }; /* HealthStatus of dra-health */

struct watcher {
	struct watcher *next;
	struct clv_kube_health *health;
	struct clv_rpc_call *call;
};

struct clv_kube_health {
	struct clv_kube *kube;
	struct clv_kube_places places;
	struct watcher *watchers;
	sd_event_source *timer;
};

/* --- The message --- */

struct row {
	Dra__DeviceHealth health;
	Dra__DeviceIdentifier device;
};

static void fill(struct clv_kube *kube, const struct clv_kube_place *place, int64_t now_s,
	struct row *row)
{
	const struct clv_kube_device *device =
		clv_kube_inventory_find(&kube->inventory, place->device);

	dra__device_health__init(&row->health);
	dra__device_identifier__init(&row->device);
	row->device.pool_name = kube->settings.node;
	row->device.device_name = (char *)(uintptr_t)place->name;
	row->health.device = &row->device;
	row->health.health = !device ? UNKNOWN : device->is_healthy ? HEALTHY : UNHEALTHY;
	row->health.last_updated_time = now_s;
	row->health.health_check_timeout_seconds = TIMEOUT_S;
	if (device && !device->is_healthy)
		row->health.message = (char *)(uintptr_t)device->why;
}

/* NULL: out of memory. */
static uint8_t *encode(struct clv_kube_health *health, size_t *ret_bytes)
{
	Dra__NodeWatchResourcesResponse response =
		DRA__NODE_WATCH_RESOURCES_RESPONSE__INIT;
	size_t n = health->places.n;
	_cleanup_free_ struct row *rows = calloc(n + 1, sizeof(*rows));
	_cleanup_free_ Dra__DeviceHealth **pointers = calloc(n + 1, sizeof(*pointers));
	int64_t now_s = (int64_t)(clv_clock_real_ns() / CLV_NS_PER_S);
	uint8_t *data;

	if (!rows || !pointers)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		fill(health->kube, &health->places.items[i], now_s, &rows[i]);
		pointers[i] = &rows[i].health;
	}
	response.n_devices = n;
	response.devices = pointers;
	*ret_bytes = dra__node_watch_resources_response__get_packed_size(&response);
	data = malloc(*ret_bytes + 1);
	if (data)
		dra__node_watch_resources_response__pack(&response, data);
	return data;
}

/* --- Watchers --- */

void clv_kube_health_send(struct clv_kube_health *health)
{
	size_t n_bytes = 0;
	uint8_t *data;

	/* Before the places are known, an empty list would mean that there are none. */
	if (!health->watchers || health->places.n == 0)
		return;
	data = encode(health, &n_bytes);
	for (struct watcher *watcher = health->watchers; watcher && data;
		watcher = watcher->next)
		clv_rpc_send(watcher->call, data, n_bytes);
	free(data);
	sd_event_source_set_time_relative(health->timer, TELL_US);
	sd_event_source_set_enabled(health->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	clv_kube_health_send(userdata);
	return 0;
}

static void drop_watcher(void *userdata)
{
	struct watcher *watcher = userdata, **at = &watcher->health->watchers;

	while (*at != watcher)
		at = &(*at)->next;
	*at = watcher->next;
	free(watcher);
}

void clv_kube_health_add(struct clv_kube_health *health, struct clv_rpc_call *call)
{
	struct watcher *watcher = calloc(1, sizeof(*watcher));

	if (!watcher) {
		clv_rpc_fail(call, CLV_RPC_RESOURCE_EXHAUSTED, "out of memory");
		return;
	}
	*watcher = (struct watcher){health->watchers, health, call};
	health->watchers = watcher;
	clv_rpc_on_end(call, drop_watcher, watcher);
	clv_kube_health_send(health);
}

void clv_kube_health_set(struct clv_kube_health *health, struct clv_kube_places *places)
{
	clv_kube_places_clear(&health->places);
	health->places = *places;
	*places = (struct clv_kube_places){};
	clv_kube_health_send(health);
}

int clv_kube_health_new(
	struct clv_kube *kube, struct clv_kube_health **ret, struct clv_error *err)
{
	struct clv_kube_health *health = calloc(1, sizeof(*health));
	int r;

	if (!health)
		return clv_error_errno(err, ENOMEM, "cannot start");
	health->kube = kube;
	r = sd_event_add_time_relative(kube->event, &health->timer, CLOCK_MONOTONIC,
		TELL_US, 0, on_timer, health);
	if (r < 0) {
		clv_kube_health_free(health);
		return clv_error_errno(err, -r, "cannot start a timer");
	}
	*ret = health;
	return 0;
}

struct clv_kube_health *clv_kube_health_free(struct clv_kube_health *health)
{
	if (!health)
		return NULL;

	while (health->watchers) {
		struct watcher *watcher = health->watchers;

		health->watchers = watcher->next;
		free(watcher);
	}
	clv_kube_places_clear(&health->places);
	sd_event_source_disable_unref(health->timer);
	free(health);
	return NULL;
}
