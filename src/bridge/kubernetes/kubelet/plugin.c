/* SPDX-License-Identifier: Apache-2.0 */
/* The device plugin API v1beta1.  Turns kubelet's calls into jobs of the worker, and
 * their results into answers; lease-sync.c decides about leases. */
#include "bridge/kubernetes/kubelet/plugin.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bridge/kubernetes/device-plugin.pb-c.h"
#include "bridge/kubernetes/kubelet/delivery.h"
#include "bridge/kubernetes/kubelet/message.h"
#include "bridge/kubernetes/kubelet/pods.h"
#include "bridge/kubernetes/kubelet/state.h"
#include "bridge/kubernetes/lease/lease-sync.h"
#include "bridge/kubernetes/resource/pair.h"
#include "bridge/rpc/client.h"
#include "bridge/rpc/server.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION "v1beta1"
#define REGISTER_TIMEOUT_MS 5000u
/* Seconds between attempts to register, which back off exponentially: if two plugins
 * serve one resource, kubelet uses the one that registered last, and both would register
 * again. */
#define PAUSE_FIRST 2u
#define PAUSE_MOST 64u
#define LASTING_NS (60 * CLV_NS_PER_S) /* a watch of this length resets the back-off */

struct watcher {
	struct watcher *next;
	struct clv_kube_plugin *plugin;
	struct clv_rpc_call *call;
};

struct clv_kube_plugin {
	struct clv_kube *kube;
	struct clv_kube_resource resource;
	struct clv_rpc_server *server;
	char endpoint[CLV_KUBE_NAME_MAX + 32]; /* the name of the socket */
	struct watcher *watchers;
	struct clv_rpc_client *registering; /* during a registration, else NULL */
	bool is_registered;
	bool is_lost;      /* kubelet has ended its watch, and may have ended itself */
	uint64_t since_ns; /* when kubelet began to watch */
	unsigned pause;    /* seconds until the next attempt to register */
	uint64_t next_ns;  /* no attempt to register before this time */
};

/* --- ListAndWatch --- */

static void drop_watcher(void *userdata)
{
	struct watcher *watcher = userdata, **at = &watcher->plugin->watchers;

	while (*at != watcher) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = watcher->next;
	/* Kubelet ended, or another plugin registered the resource. */
	if (!watcher->plugin->watchers) {
		watcher->plugin->is_lost = watcher->plugin->is_registered;
		watcher->plugin->is_registered = false;
	}
	if (clv_clock_ns() > watcher->plugin->since_ns + LASTING_NS)
		watcher->plugin->pause = PAUSE_FIRST;
	free(watcher);
}

static int encode(struct clv_kube_plugin *plugin, uint8_t **ret, size_t *ret_bytes,
	struct clv_error *err)
{
	int r = clv_kube_resource_encode(&plugin->resource, ret, ret_bytes, err);

	if (r < 0)
		clv_log_error(0, "%s", err->msg);
	return r;
}

static void send_list(struct clv_kube_plugin *plugin)
{
	struct clv_error err = {};
	uint8_t *data = NULL;
	size_t n_bytes = 0;

	if (encode(plugin, &data, &n_bytes, &err) < 0)
		return;
	for (struct watcher *watcher = plugin->watchers; watcher; watcher = watcher->next)
		clv_rpc_send(watcher->call, data, n_bytes);
	free(data);
}

/* Without a list the call ends, and the plugin registers again later. */
static void list_and_watch(struct clv_rpc_call *call, const uint8_t *request,
	size_t n_request, void *userdata)
{
	struct clv_kube_plugin *plugin = userdata;
	_cleanup_free_ uint8_t *data = NULL;
	struct clv_error err = {};
	struct watcher *watcher;
	size_t n_bytes = 0;

	if (encode(plugin, &data, &n_bytes, &err) < 0) {
		clv_kube_fail(call, &err);
		return;
	}
	watcher = calloc(1, sizeof(*watcher));
	if (!watcher) {
		clv_rpc_fail(call, CLV_RPC_RESOURCE_EXHAUSTED, "out of memory");
		return;
	}
	*watcher = (struct watcher){plugin->watchers, plugin, call};
	plugin->watchers = watcher;
	plugin->is_registered = true;
	plugin->since_ns = clv_clock_ns();
	clv_rpc_on_end(call, drop_watcher, watcher);
	clv_rpc_send(call, data, n_bytes);
}

static void get_options(
	struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes, void *userdata)
{
	V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

	options.pre_start_required = true;
	options.get_preferred_allocation_available = true;
	clv_kube_answer(call, &options.base);
}

/* --- GetPreferredAllocation --- */

static bool is_of_pair(const struct clv_kube_plugin *plugin)
{
	return plugin->kube->settings.undivided == CLV_KUBE_BOTH &&
	       (plugin->resource.kind == CLV_KUBE_OF_SHARE ||
		       plugin->resource.kind == CLV_KUBE_OF_MEMORY);
}

static int prefer_for(struct clv_kube_plugin *plugin,
	const V1beta1__ContainerPreferredAllocationRequest *request,
	V1beta1__ContainerPreferredAllocationResponse *response)
{
	bool is_memory = plugin->resource.kind == CLV_KUBE_OF_MEMORY;
	const char *near = is_of_pair(plugin)
				   ? clv_kube_pair_device(plugin->kube->pair, is_memory)
				   : NULL;
	size_t n_wanted =
		request->allocation_size > 0 ? (size_t)request->allocation_size : 0;
	_cleanup_free_ uint32_t *indexes =
		calloc(request->n_available_device_ids + 1, sizeof(*indexes));

	struct clv_kube_taken taken = {
		.resource = clv_kube_intern(plugin->resource.name)};

	response->device_ids =
		calloc(request->n_available_device_ids + 1, sizeof(char *));
	if (!indexes || !response->device_ids)
		return -ENOMEM;
	clv_kube_lease_sync_list_taken(plugin->kube->sync, &taken);
	response->n_device_ids = clv_kube_prefer_untaken(&plugin->resource, &taken,
		(const char *const *)request->available_device_ids,
		request->n_available_device_ids,
		(const char *const *)request->must_include_device_ids,
		request->n_must_include_device_ids, n_wanted, near, indexes);
	clv_kube_taken_clear(&taken);
	for (size_t i = 0; i < response->n_device_ids; i++)
		response->device_ids[i] = request->available_device_ids[indexes[i]];
	return 0;
}

static void answer_preferred(struct clv_kube_plugin *plugin, struct clv_rpc_call *call,
	const V1beta1__PreferredAllocationRequest *request)
{
	V1beta1__PreferredAllocationResponse answer =
		V1BETA1__PREFERRED_ALLOCATION_RESPONSE__INIT;
	size_t n = request->n_container_requests;
	_cleanup_free_ V1beta1__ContainerPreferredAllocationResponse *items =
		calloc(n + 1, sizeof(*items));
	_cleanup_free_ V1beta1__ContainerPreferredAllocationResponse **pointers =
		calloc(n + 1, sizeof(*pointers));
	int r = items && pointers ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r >= 0; i++) {
		v1beta1__container_preferred_allocation_response__init(&items[i]);
		pointers[i] = &items[i];
		r = prefer_for(plugin, request->container_requests[i], &items[i]);
	}
	answer.n_container_responses = n;
	answer.container_responses = pointers;
	if (r < 0)
		clv_rpc_fail(call, CLV_RPC_RESOURCE_EXHAUSTED, "out of memory");
	else
		clv_kube_answer(call, &answer.base);
	for (size_t i = 0; i < n && items; i++)
		free(items[i].device_ids);
}

static void get_preferred(
	struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes, void *userdata)
{
	V1beta1__PreferredAllocationRequest *request = clv_kube_unpack(
		call, &v1beta1__preferred_allocation_request__descriptor, data, n_bytes);

	if (!request)
		return;
	answer_preferred(userdata, call, request);
	v1beta1__preferred_allocation_request__free_unpacked(request, NULL);
}

/* --- Allocate and PreStartContainer --- */

struct hold {
	struct clv_kube_job job;
	struct clv_kube_plugin *plugin;
	struct clv_rpc_call *call; /* NULL: kubelet ended the call */
	struct clv_kube_desired desired;
	bool is_allocate;               /* else PreStartContainer */
	char lease[CLV_KUBE_LEASE_MAX]; /* the lease that the answer gives; "": none */
	unsigned ways;                  /* by which parts of the answer */
	json_t *edits;                  /* owned; NULL: not by mounts */
	int r;
	struct clv_error err;
};

static struct hold *new_hold(
	struct clv_kube_plugin *plugin, struct clv_rpc_call *call, bool is_allocate)
{
	struct hold *hold = calloc(1, sizeof(*hold));

	if (!hold) {
		clv_rpc_fail(call, CLV_RPC_RESOURCE_EXHAUSTED, "out of memory");
		return NULL;
	}
	hold->plugin = plugin;
	hold->call = call;
	hold->is_allocate = is_allocate;
	return hold;
}

static void forget_call(void *userdata)
{
	struct hold *hold = userdata;

	hold->call = NULL;
}

static void finish_hold(struct hold *hold)
{
	V1beta1__Empty empty = V1BETA1__EMPTY__INIT;

	if (hold->r < 0)
		clv_log_warning(0, "%s", hold->err.msg);
	if (hold->call && hold->r < 0)
		clv_kube_fail(hold->call, &hold->err);
	else if (hold->call && hold->is_allocate)
		clv_kube_deliver(hold->call, hold->lease, hold->ways, hold->edits);
	else if (hold->call)
		clv_kube_answer(hold->call, &empty.base);
	json_decref(hold->edits);
	clv_kube_desired_clear(&hold->desired);
	free(hold);
}

static void run_hold(struct clv_kube_job *job, struct clv_kube_lease_sync *sync)
{
	struct hold *hold = (struct hold *)job;

	hold->r = clv_kube_lease_sync_hold(
		sync, &hold->desired, hold->is_allocate, &hold->err);
	if (hold->r >= 0 && hold->is_allocate)
		hold->r = clv_kube_lease_sync_deliver(
			sync, hold->lease, &hold->ways, &hold->edits, &hold->err);
}

static void done_hold(struct clv_kube_job *job)
{
	finish_hold((struct hold *)job);
}

/* To be called once hold->desired is complete. */
static void submit_hold(struct hold *hold)
{
	hold->job.run = run_hold;
	hold->job.done = done_hold;
	clv_kube_worker_submit(hold->plugin->kube->worker, &hold->job);
}

static void allocate_ids(struct hold *hold, const V1beta1__ContainerAllocateRequest *ids)
{
	struct clv_kube_plugin *plugin = hold->plugin;
	bool is_memory = plugin->resource.kind == CLV_KUBE_OF_MEMORY;
	struct clv_kube_desired desired;

	hold->r = clv_kube_desired_make(&plugin->resource,
		(const char *const *)ids->devices_ids, ids->n_devices_ids, &desired,
		&hold->err);
	if (hold->r >= 0 && !is_of_pair(plugin))
		hold->desired = desired;
	else if (hold->r >= 0)
		hold->r = clv_kube_pair_take(plugin->kube->pair, &desired, is_memory,
			&hold->desired, &hold->err);
	if (hold->r < 0 || hold->desired.units.n == 0) {
		finish_hold(hold);
		return;
	}
	memcpy(hold->lease, hold->desired.lease, sizeof(hold->lease));
	clv_rpc_on_end(hold->call, forget_call, hold);
	submit_hold(hold);
}

static void allocate(
	struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes, void *userdata)
{
	V1beta1__AllocateRequest *request = clv_kube_unpack(
		call, &v1beta1__allocate_request__descriptor, data, n_bytes);
	struct hold *hold;

	if (!request)
		return;
	if (request->n_container_requests != 1)
		clv_rpc_fail(call, CLV_RPC_INVALID_ARGUMENT,
			"a call must be for exactly one container");
	else if ((hold = new_hold(userdata, call, true)))
		allocate_ids(hold, request->container_requests[0]);
	v1beta1__allocate_request__free_unpacked(request, NULL);
}

/* Kubelet lists no such container, as for each init container.  The lease of a pair is
 * created by the call for the share. */
static void hold_unlisted(struct hold *hold, const struct clv_error *err)
{
	struct clv_kube_plugin *plugin = hold->plugin;
	bool is_memory = plugin->resource.kind == CLV_KUBE_OF_MEMORY;

	if (!is_of_pair(plugin)) {
		submit_hold(hold);
		return;
	}
	if (!clv_kube_pair_recall(plugin->kube->pair, &hold->desired, is_memory)) {
		hold->r = err->code;
		hold->err = *err;
		finish_hold(hold);
	} else if (is_memory)
		finish_hold(hold);
	else
		submit_hold(hold);
}

/* The container's lease is known, or cannot be. */
static void on_container(
	struct clv_kube_desired *desired, const struct clv_error *err, void *userdata)
{
	struct hold *hold = userdata;

	if (!hold->call) {
		clv_kube_desired_clear(&hold->desired);
		free(hold);
		return;
	}
	if (err && err->code == -ENOENT) {
		hold_unlisted(hold, err);
		return;
	}
	if (err) {
		hold->r = err->code;
		hold->err = *err;
		finish_hold(hold);
		return;
	}
	clv_kube_desired_clear(&hold->desired);
	hold->desired = *desired;
	*desired = (struct clv_kube_desired){};
	submit_hold(hold);
}

static void pre_start(
	struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes, void *userdata)
{
	struct clv_kube_plugin *plugin = userdata;
	V1beta1__PreStartContainerRequest *request = clv_kube_unpack(
		call, &v1beta1__pre_start_container_request__descriptor, data, n_bytes);
	struct hold *hold = request ? new_hold(plugin, call, false) : NULL;

	if (hold) {
		clv_rpc_on_end(call, forget_call, hold);
		hold->r = clv_kube_desired_make(&plugin->resource,
			(const char *const *)request->devices_ids, request->n_devices_ids,
			&hold->desired, &hold->err);
		if (hold->r < 0)
			finish_hold(hold);
		else if (!is_of_pair(plugin) && !clv_kube_pods_may_conflict(plugin->kube))
			submit_hold(hold);
		else
			clv_kube_pods_find(plugin->kube->pods, plugin->resource.name,
				hold->desired.lease, on_container, hold);
	}
	if (request)
		v1beta1__pre_start_container_request__free_unpacked(request, NULL);
}

/* --- The plugin --- */

static const struct clv_rpc_method methods[] = {
	{"/v1beta1.DevicePlugin/GetDevicePluginOptions", get_options},
	{"/v1beta1.DevicePlugin/ListAndWatch", list_and_watch},
	{"/v1beta1.DevicePlugin/GetPreferredAllocation", get_preferred},
	{"/v1beta1.DevicePlugin/Allocate", allocate},
	{"/v1beta1.DevicePlugin/PreStartContainer", pre_start},
};

static int serve(struct clv_kube_plugin *plugin, struct clv_error *err)
{
	const struct clv_rpc_service service = {methods, CLV_ARRAY_SIZE(methods), plugin};
	char name[CLV_KUBE_SOCKET_MAX], path[CLV_KUBE_SOCKET_MAX];

	plugin->server = clv_rpc_server_free(plugin->server);
	plugin->is_registered = false;
	snprintf(name, sizeof(name), "device-plugins/%s", plugin->endpoint);
	clv_kube_path(plugin->kube, name, path);
	return clv_rpc_server_new(
		plugin->kube->event, path, &service, &plugin->server, err);
}

CLV_DEFINE_CLEANUP(struct clv_kube_plugin *, clv_kube_plugin_free)

int clv_kube_plugin_new(struct clv_kube *kube, struct clv_kube_resource *resource,
	struct clv_kube_plugin **ret, struct clv_error *err)
{
	CLV_CLEANUP(clv_kube_plugin_freep)
	struct clv_kube_plugin *plugin = calloc(1, sizeof(*plugin));
	struct clv_error why = {};

	if (!plugin)
		return clv_error_errno(err, ENOMEM, "cannot serve %s", resource->name);
	plugin->kube = kube;
	plugin->pause = PAUSE_FIRST;
	plugin->resource = *resource;
	resource->sources = NULL;
	resource->n = 0;
	snprintf(plugin->endpoint, sizeof(plugin->endpoint), "cleave-%s.sock",
		plugin->resource.name);
	for (char *p = plugin->endpoint; *p != '\0'; p++)
		*p = isalnum((unsigned char)*p) || *p == '.' ? *p : '-';
	/* If kubelet's folder does not exist yet, clv_kube_plugin_check() retries. */
	if (serve(plugin, &why) < 0)
		clv_log_debug("%s", why.msg);
	*ret = CLV_TAKE(plugin);
	return 0;
}

struct clv_kube_plugin *clv_kube_plugin_free(struct clv_kube_plugin *plugin)
{
	if (!plugin)
		return NULL;

	clv_rpc_client_free(plugin->registering);
	clv_rpc_server_free(plugin->server);
	clv_kube_resource_clear(&plugin->resource);
	free(plugin);
	return NULL;
}

const struct clv_kube_resource *clv_kube_plugin_resource(
	const struct clv_kube_plugin *plugin)
{
	return &plugin->resource;
}

bool clv_kube_plugin_is_registered(const struct clv_kube_plugin *plugin)
{
	return plugin->is_registered;
}

void clv_kube_plugin_set(
	struct clv_kube_plugin *plugin, struct clv_kube_resource *resource)
{
	bool is_same = plugin->resource.n == resource->n &&
		       (resource->n == 0 ||
			       memcmp(plugin->resource.sources, resource->sources,
				       resource->n * sizeof(*resource->sources)) == 0);

	clv_kube_resource_clear(&plugin->resource);
	plugin->resource = *resource;
	resource->sources = NULL;
	resource->n = 0;
	if (!is_same)
		send_list(plugin);
}

/* --- Registration --- */

static void on_register(const struct clv_rpc_status *status, const uint8_t *data,
	size_t n_bytes, void *userdata)
{
	struct clv_kube_plugin *plugin = userdata;

	plugin->registering = clv_rpc_client_free(plugin->registering);
	if (status->code != CLV_RPC_OK)
		clv_log_warning(0, "kubelet does not accept %s: %s",
			plugin->resource.name, status->message);
	else if (plugin->is_lost)
		clv_log_warning(0,
			"kubelet had dropped %s while it ran, and uses the plugin that "
			"registers last: if another one serves that resource, remove it",
			plugin->resource.name);
	else
		clv_log_info("registered %s", plugin->resource.name);
	plugin->is_lost = false;
}

static int send_register(struct clv_kube_plugin *plugin, struct clv_error *err)
{
	V1beta1__RegisterRequest request = V1BETA1__REGISTER_REQUEST__INIT;
	V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;
	_cleanup_free_ uint8_t *data = NULL;
	char path[CLV_KUBE_SOCKET_MAX], version[] = VERSION;
	int r;

	options.pre_start_required = true;
	options.get_preferred_allocation_available = true;
	request.version = version;
	request.endpoint = plugin->endpoint;
	request.resource_name = plugin->resource.name;
	request.options = &options;
	data = malloc(v1beta1__register_request__get_packed_size(&request));
	if (!data)
		return clv_error_errno(err, ENOMEM, "cannot register");
	v1beta1__register_request__pack(&request, data);
	clv_kube_path(plugin->kube, "device-plugins/kubelet.sock", path);
	r = clv_rpc_client_new(plugin->kube->event, path, &plugin->registering, err);
	if (r < 0)
		return r;
	r = clv_rpc_client_call(plugin->registering, "/v1beta1.Registration/Register",
		data, v1beta1__register_request__get_packed_size(&request),
		REGISTER_TIMEOUT_MS, on_register, plugin);
	return r < 0 ? clv_error_errno(err, -r, "cannot register") : 0;
}

void clv_kube_plugin_check(struct clv_kube_plugin *plugin, bool is_there, bool is_new)
{
	struct clv_error err = {};
	int r = 0;

	if (is_new) {
		plugin->pause = PAUSE_FIRST;
		plugin->next_ns = 0;
		plugin->is_registered = false;
		plugin->is_lost = false;
		plugin->registering = clv_rpc_client_free(plugin->registering);
	}
	if (!plugin->server || !clv_rpc_server_socket_exists(plugin->server))
		r = serve(plugin, &err);
	if (r < 0 || !is_there || plugin->is_registered || plugin->registering)
		return;
	if (clv_clock_ns() < plugin->next_ns)
		return;
	plugin->next_ns = clv_clock_ns() + plugin->pause * CLV_NS_PER_S;
	plugin->pause = plugin->pause < PAUSE_MOST ? 2 * plugin->pause : PAUSE_MOST;
	r = send_register(plugin, &err);
	if (r < 0)
		clv_log_warning(
			0, "cannot register %s: %s", plugin->resource.name, err.msg);
}
