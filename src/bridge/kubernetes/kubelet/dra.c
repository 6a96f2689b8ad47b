/* SPDX-License-Identifier: Apache-2.0 */
/* The DRA driver's gRPC services for kubelet.  Calls become jobs of the worker; slices
 * are published again when the node changes and once a minute. */
#include "bridge/kubernetes/kubelet/dra.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "bridge/kubernetes/dra.pb-c.h"
#include "bridge/kubernetes/kubelet/health.h"
#include "bridge/kubernetes/kubelet/message.h"
#include "bridge/kubernetes/kubelet/state.h"
#include "bridge/kubernetes/kubelet/worker.h"
#include "bridge/kubernetes/lease/claims.h"
#include "bridge/kubernetes/registration.pb-c.h"
#include "bridge/rpc/server.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLAIMS_MAX 256
#define AGAIN_US 5000000
#define ANYWAY_US 60000000
/* Kubelet deletes the node's slices some time after it started, so slices are checked
 * more often for this time after the registration. */
#define NEW_NS (30 * CLV_NS_PER_S)

/* In order of preference: kubelet uses the first that it knows. */
static const char *const versions[] = {"v1.DRAPlugin", "v1beta1.DRAPlugin",
	"v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"};

struct clv_kube_dra {
	struct clv_kube *kube;
	struct clv_kube_claims *claims; /* used by jobs in the worker only */
	struct clv_rpc_server *registration, *driver;
	char driver_path[CLV_KUBE_SOCKET_MAX], registration_path[CLV_KUBE_SOCKET_MAX];
	struct clv_kube_health *health;
	sd_event_source *timer;
	uint64_t registered_ns;
	bool is_publishing; /* a job is queued or running */
	bool is_stale;      /* the node has changed since that job was submitted */
};

/* --- Registration: kubelet connects to the driver --- */

static void get_info(
	struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes, void *userdata)
{
	static char type[] = "DRAPlugin";
	struct clv_kube_dra *dra = userdata;
	Pluginregistration__PluginInfo info = PLUGINREGISTRATION__PLUGIN_INFO__INIT;

	info.type = type;
	info.name = dra->kube->settings.driver;
	info.endpoint = dra->driver_path;
	info.n_supported_versions = CLV_ARRAY_SIZE(versions);
	info.supported_versions = (char **)(uintptr_t)versions;
	clv_kube_answer(call, &info.base);
}

static void notify_status(
	struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes, void *userdata)
{
	struct clv_kube_dra *dra = userdata;
	Pluginregistration__RegistrationStatusResponse answer =
		PLUGINREGISTRATION__REGISTRATION_STATUS_RESPONSE__INIT;
	Pluginregistration__RegistrationStatus *status = clv_kube_unpack(call,
		&pluginregistration__registration_status__descriptor, data, n_bytes);

	if (!status)
		return;
	if (status->plugin_registered) {
		clv_log_info("registered %s", dra->kube->settings.driver);
		dra->registered_ns = clv_clock_ns();
		clv_kube_dra_publish(dra);
	} else
		clv_log_warning(0, "kubelet does not accept %s: %s",
			dra->kube->settings.driver, status->error);
	pluginregistration__registration_status__free_unpacked(status, NULL);
	clv_kube_answer(call, &answer.base);
}

/* --- Claims --- */

struct claims_job {
	struct clv_kube_job job;
	struct clv_kube_dra *dra;
	struct clv_rpc_call *call; /* NULL: kubelet ended the call */
	struct clv_kube_claim *claims;
	size_t n;
	bool is_prepare;
};

static void forget_call(void *userdata)
{
	struct claims_job *job = userdata;

	job->call = NULL;
}

static void run_claims(struct clv_kube_job *base, struct clv_kube_lease_sync *sync)
{
	struct claims_job *job = (struct claims_job *)base;

	for (size_t i = 0; i < job->n; i++) {
		if (job->is_prepare)
			clv_kube_claims_prepare(job->dra->claims, sync, &job->claims[i]);
		else
			clv_kube_claims_unprepare(
				job->dra->claims, sync, &job->claims[i]);
	}
}

static void fill_device(const struct clv_kube_prepared *prepared, Dra__Device *device,
	char **request, char **cdi)
{
	dra__device__init(device);
	*request = (char *)(uintptr_t)prepared->request;
	*cdi = (char *)(uintptr_t)prepared->cdi;
	device->n_request_names = 1;
	device->request_names = request;
	device->pool_name = (char *)(uintptr_t)prepared->pool;
	device->device_name = (char *)(uintptr_t)prepared->device;
	device->n_cdi_device_ids = prepared->cdi[0] != '\0';
	device->cdi_device_ids = cdi;
	if (prepared->share_id[0] != '\0')
		device->share_id = (char *)(uintptr_t)prepared->share_id;
}

/* The protobuf message for one claim, with the arrays that it points to. */
struct prepared_answer {
	Dra__PreparedEntry entry;
	Dra__NodePrepareResourceResponse response;
	Dra__Device *devices, **pointers;
	char **texts;
};

static int fill_prepared(
	const struct clv_kube_claim *claim, struct prepared_answer *answer)
{
	dra__prepared_entry__init(&answer->entry);
	dra__node_prepare_resource_response__init(&answer->response);
	answer->entry.key = claim->uid;
	answer->entry.value = &answer->response;
	if (claim->r < 0) {
		answer->response.error = (char *)(uintptr_t)claim->err.msg;
		return 0;
	}
	answer->devices = calloc(claim->n + 1, sizeof(*answer->devices));
	answer->pointers = calloc(claim->n + 1, sizeof(*answer->pointers));
	answer->texts = calloc(2 * claim->n + 1, sizeof(*answer->texts));
	if (!answer->devices || !answer->pointers || !answer->texts)
		return -ENOMEM;
	for (size_t i = 0; i < claim->n; i++) {
		fill_device(&claim->prepared[i], &answer->devices[i],
			&answer->texts[2 * i], &answer->texts[2 * i + 1]);
		answer->pointers[i] = &answer->devices[i];
	}
	answer->response.n_devices = claim->n;
	answer->response.devices = answer->pointers;
	return 0;
}

static void answer_prepare(struct claims_job *job)
{
	Dra__NodePrepareResourcesResponse response =
		DRA__NODE_PREPARE_RESOURCES_RESPONSE__INIT;
	_cleanup_free_ struct prepared_answer *answers =
		calloc(job->n + 1, sizeof(*answers));
	_cleanup_free_ Dra__PreparedEntry **entries =
		calloc(job->n + 1, sizeof(*entries));
	int r = answers && entries ? 0 : -ENOMEM;

	for (size_t i = 0; i < job->n && r >= 0; i++) {
		r = fill_prepared(&job->claims[i], &answers[i]);
		entries[i] = &answers[i].entry;
	}
	response.n_claims = job->n;
	response.claims = entries;
	if (r < 0)
		clv_rpc_fail(job->call, CLV_RPC_RESOURCE_EXHAUSTED, "out of memory");
	else
		clv_kube_answer(job->call, &response.base);
	for (size_t i = 0; answers && i < job->n; i++) {
		free(answers[i].devices);
		free(answers[i].pointers);
		free(answers[i].texts);
	}
}

struct unprepared_answer {
	Dra__UnpreparedEntry entry;
	Dra__NodeUnprepareResourceResponse response;
};

static void answer_unprepare(struct claims_job *job)
{
	Dra__NodeUnprepareResourcesResponse response =
		DRA__NODE_UNPREPARE_RESOURCES_RESPONSE__INIT;
	_cleanup_free_ struct unprepared_answer *answers =
		calloc(job->n + 1, sizeof(*answers));
	_cleanup_free_ Dra__UnpreparedEntry **entries =
		calloc(job->n + 1, sizeof(*entries));

	for (size_t i = 0; answers && entries && i < job->n; i++) {
		dra__unprepared_entry__init(&answers[i].entry);
		dra__node_unprepare_resource_response__init(&answers[i].response);
		answers[i].entry.key = job->claims[i].uid;
		answers[i].entry.value = &answers[i].response;
		if (job->claims[i].r < 0)
			answers[i].response.error = job->claims[i].err.msg;
		entries[i] = &answers[i].entry;
	}
	response.n_claims = job->n;
	response.claims = entries;
	if (answers && entries)
		clv_kube_answer(job->call, &response.base);
	else
		clv_rpc_fail(job->call, CLV_RPC_RESOURCE_EXHAUSTED, "out of memory");
}

static void free_job(struct claims_job *job)
{
	for (size_t i = 0; i < job->n; i++)
		clv_kube_claim_clear(&job->claims[i]);
	free(job->claims);
	free(job);
}

static void done_claims(struct clv_kube_job *base)
{
	struct claims_job *job = (struct claims_job *)base;

	for (size_t i = 0; i < job->n; i++) {
		if (job->claims[i].r < 0)
			clv_log_warning(0, "claim %s/%s: %s", job->claims[i].namespace,
				job->claims[i].name, job->claims[i].err.msg);
	}
	if (job->call && job->is_prepare)
		answer_prepare(job);
	else if (job->call)
		answer_unprepare(job);
	free_job(job);
}

static int copy_claims(struct claims_job *job, Dra__Claim *const *claims, size_t n)
{
	job->claims = calloc(n + 1, sizeof(*job->claims));
	if (!job->claims)
		return -ENOMEM;
	for (; job->n < n; job->n++) {
		struct clv_kube_claim *claim = &job->claims[job->n];

		claim->namespace = strdup(claims[job->n]->namespace_);
		claim->uid = strdup(claims[job->n]->uid);
		claim->name = strdup(claims[job->n]->name);
		if (!claim->namespace || !claim->uid || !claim->name)
			return -ENOMEM;
	}
	return 0;
}

static void begin_claims(struct clv_kube_dra *dra, struct clv_rpc_call *call,
	Dra__Claim *const *claims, size_t n, bool is_prepare)
{
	struct claims_job *job = calloc(1, sizeof(*job));

	if (!job || n > CLAIMS_MAX || copy_claims(job, claims, n) < 0) {
		clv_rpc_fail(call, CLV_RPC_RESOURCE_EXHAUSTED, "%s",
			n > CLAIMS_MAX ? "too many claims" : "out of memory");
		if (job)
			free_job(job);
		return;
	}
	job->job.run = run_claims;
	job->job.done = done_claims;
	job->dra = dra;
	job->call = call;
	job->is_prepare = is_prepare;
	clv_rpc_on_end(call, forget_call, job);
	clv_kube_worker_submit(dra->kube->worker, &job->job);
}

static void prepare(
	struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes, void *userdata)
{
	Dra__NodePrepareResourcesRequest *request = clv_kube_unpack(
		call, &dra__node_prepare_resources_request__descriptor, data, n_bytes);

	if (!request)
		return;
	begin_claims(userdata, call, request->claims, request->n_claims, true);
	dra__node_prepare_resources_request__free_unpacked(request, NULL);
}

static void unprepare(
	struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes, void *userdata)
{
	Dra__NodeUnprepareResourcesRequest *request = clv_kube_unpack(
		call, &dra__node_unprepare_resources_request__descriptor, data, n_bytes);

	if (!request)
		return;
	begin_claims(userdata, call, request->claims, request->n_claims, false);
	dra__node_unprepare_resources_request__free_unpacked(request, NULL);
}

static void watch_health(
	struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes, void *userdata)
{
	struct clv_kube_dra *dra = userdata;

	clv_kube_health_add(dra->health, call);
}

/* --- Slices --- */

struct publish_job {
	struct clv_kube_job job;
	struct clv_kube_dra *dra;
	struct clv_kube_inventory inventory;
	struct clv_kube_places places;
	int r;
	struct clv_error err;
};

static void run_publish(struct clv_kube_job *base, struct clv_kube_lease_sync *sync)
{
	struct publish_job *job = (struct publish_job *)base;

	job->r = clv_kube_claims_publish(
		job->dra->claims, sync, &job->inventory, &job->places, &job->err);
}

static bool is_new(const struct clv_kube_dra *dra)
{
	return dra->registered_ns != 0 && clv_clock_ns() - dra->registered_ns < NEW_NS;
}

static void done_publish(struct clv_kube_job *base)
{
	struct publish_job *job = (struct publish_job *)base;
	struct clv_kube_dra *dra = job->dra;

	if (job->r < 0)
		clv_log_warning(0, "cannot publish the node's devices: %s", job->err.msg);
	dra->is_publishing = false;
	if (job->places.n > 0)
		clv_kube_health_set(dra->health, &job->places);
	sd_event_source_set_time_relative(
		dra->timer, job->r < 0 || is_new(dra) ? AGAIN_US : ANYWAY_US);
	sd_event_source_set_enabled(dra->timer, SD_EVENT_ONESHOT);
	clv_kube_inventory_clear(&job->inventory);
	free(job);
	if (dra->is_stale)
		clv_kube_dra_publish(dra);
}

void clv_kube_dra_publish(struct clv_kube_dra *dra)
{
	const struct clv_kube_inventory *now = &dra->kube->inventory;
	struct publish_job *job;

	clv_kube_health_send(dra->health);
	dra->is_stale = dra->is_publishing;
	if (dra->is_publishing || !dra->kube->has_inventory || !dra->kube->worker)
		return;
	job = calloc(1, sizeof(*job));
	if (!job || !(job->inventory.items = calloc(now->n + 1, sizeof(*now->items)))) {
		free(job);
		return;
	}
	memcpy(job->inventory.items, now->items, now->n * sizeof(*now->items));
	job->inventory.n = now->n;
	job->job.run = run_publish;
	job->job.done = done_publish;
	job->dra = dra;
	dra->is_publishing = true;
	clv_kube_worker_submit(dra->kube->worker, &job->job);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	clv_kube_dra_publish(userdata);
	return 0;
}

/* --- The driver --- */

static const struct clv_rpc_method registration_methods[] = {
	{"/pluginregistration.Registration/GetInfo", get_info},
	{"/pluginregistration.Registration/NotifyRegistrationStatus", notify_status},
};
/* The protobuf package of v1beta1 was renamed between releases of Kubernetes. */
static const struct clv_rpc_method driver_methods[] = {
	{"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources", prepare},
	{"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources", unprepare},
	{"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources", prepare},
	{"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources",
		unprepare},
	{"/v1beta1.DRAPlugin/NodePrepareResources", prepare},
	{"/v1beta1.DRAPlugin/NodeUnprepareResources", unprepare},
	{"/v1.DRAResourceHealth/NodeWatchResources", watch_health},
	{"/v1alpha1.DRAResourceHealth/NodeWatchResources", watch_health},
};

static void serve(struct clv_kube_dra *dra, const char *path,
	const struct clv_rpc_method *methods, size_t n_methods,
	struct clv_rpc_server **server)
{
	const struct clv_rpc_service service = {methods, n_methods, dra};
	struct clv_error err = {};

	if (*server && clv_rpc_server_socket_exists(*server))
		return;
	*server = clv_rpc_server_free(*server);
	if (clv_rpc_server_new(dra->kube->event, path, &service, server, &err) < 0)
		clv_log_debug("%s", err.msg);
}

/* The driver's socket is created first, because kubelet connects to it as soon as it has
 * seen the registration socket. */
void clv_kube_dra_check(struct clv_kube_dra *dra)
{
	serve(dra, dra->driver_path, driver_methods, CLV_ARRAY_SIZE(driver_methods),
		&dra->driver);
	if (dra->driver)
		serve(dra, dra->registration_path, registration_methods,
			CLV_ARRAY_SIZE(registration_methods), &dra->registration);
}

bool clv_kube_dra_is_registered(const struct clv_kube_dra *dra)
{
	return dra->registered_ns != 0;
}

int clv_kube_dra_new(
	struct clv_kube *kube, struct clv_kube_dra **ret, struct clv_error *err)
{
	struct clv_kube_dra *dra = calloc(1, sizeof(*dra));
	char name[CLV_KUBE_SOCKET_MAX], folder[CLV_KUBE_SOCKET_MAX];
	int r;

	if (!dra)
		return clv_error_errno(err, ENOMEM, "cannot start");
	dra->kube = kube;
	snprintf(name, sizeof(name), "plugins/%s", kube->settings.driver);
	clv_kube_path(kube, name, folder);
	snprintf(name, sizeof(name), "plugins/%s/dra.sock", kube->settings.driver);
	clv_kube_path(kube, name, dra->driver_path);
	snprintf(name, sizeof(name), "plugins_registry/%s-reg.sock",
		kube->settings.driver);
	clv_kube_path(kube, name, dra->registration_path);
	r = clv_kube_claims_new(&kube->settings, &dra->claims, err);
	if (r >= 0)
		r = clv_kube_health_new(kube, &dra->health, err);
	if (r >= 0)
		r = clv_path_make(folder, 0750, err);
	if (r >= 0) {
		r = sd_event_add_time_relative(kube->event, &dra->timer, CLOCK_MONOTONIC,
			ANYWAY_US, 0, on_timer, dra);
		if (r < 0)
			clv_error_errno(err, -r, "cannot start a timer");
	}
	if (r < 0) {
		clv_kube_dra_free(dra);
		return r;
	}
	*ret = dra;
	return 0;
}

struct clv_kube_dra *clv_kube_dra_free(struct clv_kube_dra *dra)
{
	if (!dra)
		return NULL;

	clv_rpc_server_free(dra->registration);
	clv_rpc_server_free(dra->driver);
	clv_kube_health_free(dra->health);
	sd_event_source_disable_unref(dra->timer);
	clv_kube_claims_free(dra->claims);
	free(dra);
	return NULL;
}
