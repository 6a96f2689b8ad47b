/* SPDX-License-Identifier: Apache-2.0 */
/* Compares kubelet's list of containers with the ledger.  A kubelet that has just
 * started, or that cannot reach the API server, lists only some of its pods.  So leases
 * are released only if kubelet has been running for a while, and, where cleave-kubelet is
 * a pod itself, if the list has that pod. */
#include "bridge/kubernetes/kubelet/pods.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bridge/cdi/spec.h"
#include "bridge/kubernetes/kubelet/state.h"
#include "bridge/kubernetes/kubelet/worker.h"
#include "bridge/kubernetes/lease/classes.h"
#include "bridge/kubernetes/lease/lease-sync.h"
#include "bridge/kubernetes/pod-resources.pb-c.h"
#include "bridge/rpc/client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LIST_TIMEOUT_MS 5000u
/* Where free room is announced, pods wait for that of a container that has ended. */
#define ANNOUNCED_MS 2000u
#define SETTLE_GRACES 3

typedef Podresources__V1__ListPodResourcesResponse List;
typedef Podresources__V1__ContainerResources Container;

struct question {
	struct question *next;
	struct clv_kube_pods *pods;
	struct clv_rpc_client *client;
	uint64_t asked_ns;
	clv_kube_on_container on_container; /* NULL: compare with the ledger */
	void *userdata;
	char resource[CLV_KUBE_NAME_MAX];
	char lease[CLV_KUBE_LEASE_MAX];
};

struct clv_kube_pods {
	struct clv_kube *kube;
	sd_event_source *timer;
	struct question *questions;
	bool is_busy;            /* a comparison is queued or running */
	uint64_t compared_ns;    /* when the last whole one began; 0: never */
	ino_t inode;             /* of the API's socket; 0: not known */
	struct timespec changed; /* the same file system gives inodes again */
	uint64_t since_ns;       /* when that socket was first seen */
	const char *own_name, *own_namespace; /* of this pod; NULL: not in a pod */
};

/* --- The leases of a container --- */

/* Collects the ids of a resource: kubelet may list it several times, once for each NUMA
 * node. */
static int gather(
	const Container *container, const char *resource, char ***ret_ids, size_t *ret_n)
{
	char **ids = NULL;
	size_t n = 0;

	for (size_t i = 0; i < container->n_devices; i++) {
		const Podresources__V1__ContainerDevices *devices = container->devices[i];

		if (strcmp(devices->resource_name, resource) != 0)
			continue;
		for (size_t j = 0; j < devices->n_device_ids; j++) {
			char **id = CLV_APPEND(ids, n);

			if (!id) {
				free(ids);
				return -ENOMEM;
			}
			*id = devices->device_ids[j];
		}
	}
	*ret_ids = ids;
	*ret_n = n;
	return 0;
}

/* Returns 1 and the lease, or 0 if the container has no id of the resource. */
static int desired_of(const Container *container,
	const struct clv_kube_resource *resource, struct clv_kube_desired *ret,
	struct clv_error *err)
{
	_cleanup_free_ char **ids = NULL;
	size_t n = 0;
	int r = gather(container, resource->name, &ids, &n);

	if (r < 0)
		return clv_error_errno(err, -r, "cannot read what containers have");
	if (n == 0)
		return 0;
	r = clv_kube_desired_identify(resource, (const char *const *)ids, n, ret, err);
	return r < 0 ? r : 1;
}

static const struct clv_kube_resource *resource_of_kind(
	const struct clv_kube *kube, enum clv_kube_kind kind)
{
	for (size_t i = 0; i < kube->n_plugins; i++) {
		const struct clv_kube_resource *resource = kube->resources[i];

		if (resource->kind == kind)
			return resource;
	}
	return NULL;
}

static const struct clv_kube_resource *resource_of_name(
	const struct clv_kube *kube, const char *name)
{
	for (size_t i = 0; i < kube->n_plugins; i++) {
		if (strcmp(kube->resources[i]->name, name) == 0)
			return kube->resources[i];
	}
	return NULL;
}

/* Returns 1 and the lease for share and memory, or 0 if the container has neither. */
static int pair_of(const struct clv_kube *kube, const Container *container,
	struct clv_kube_desired *ret, struct clv_error *err)
{
	const struct clv_kube_resource *shares =
		resource_of_kind(kube, CLV_KUBE_OF_SHARE);
	const struct clv_kube_resource *memories =
		resource_of_kind(kube, CLV_KUBE_OF_MEMORY);
	struct clv_kube_desired share = {}, memory = {};
	int has_share = shares ? desired_of(container, shares, &share, err) : 0;
	int has_memory = memories && has_share >= 0
				 ? desired_of(container, memories, &memory, err)
				 : 0;
	int r = has_share < 0 ? has_share : has_memory < 0 ? has_memory : 0;

	if (r >= 0 && has_share != has_memory)
		r = clv_error_set(err, -EPERM,
			"container %s asks for %s without %s: this node requires both",
			container->name, has_share ? shares->name : memories->name,
			has_share ? memories->name : shares->name);
	else if (r >= 0 && has_share)
		r = clv_kube_desired_join(&share, &memory, err);
	if (r >= 0 && has_share) {
		*ret = share;
		share = (struct clv_kube_desired){};
		r = 1;
	}
	clv_kube_desired_clear(&share);
	clv_kube_desired_clear(&memory);
	return r;
}

static bool is_in_pair(
	const struct clv_kube *kube, const struct clv_kube_resource *resource)
{
	return kube->settings.undivided == CLV_KUBE_BOTH &&
	       (resource->kind == CLV_KUBE_OF_SHARE ||
		       resource->kind == CLV_KUBE_OF_MEMORY);
}

/* --- Comparison --- */

struct compare {
	struct clv_kube_job job;
	struct clv_kube_pods *pods;
	struct clv_kube_desired *desired_leases;
	size_t n;
	struct clv_kube_class_pod *classes; /* of the same leases, if they have classes */
	size_t n_classes;
	uint64_t asked_ns, kubelet_since_ns;
	bool may_release;
	bool is_whole; /* else only leases whose containers have ended are noted */
	int r;
	struct clv_error err;
};

static int add_desired(struct compare *compare, struct clv_kube_desired *desired)
{
	struct clv_kube_desired *place = CLV_APPEND(compare->desired_leases, compare->n);

	if (!place)
		return -ENOMEM;
	*place = *desired;
	return 0;
}

/* Adds leases of resources that are no longer served, because their names come from
 * earlier settings: such leases stay until their containers end. */
static int add_former(struct compare *compare, const Container *container)
{
	int r = 0;

	for (size_t i = 0; i < container->n_devices && r >= 0; i++) {
		const Podresources__V1__ContainerDevices *devices = container->devices[i];
		struct clv_kube_resource former = {.kind = CLV_KUBE_OF_ONE};
		struct clv_kube_desired desired;

		if (devices->n_device_ids == 0 ||
			resource_of_name(compare->pods->kube, devices->resource_name))
			continue;
		if (strstr(devices->device_ids[0], "::"))
			former.kind = CLV_KUBE_OF_SHARE;
		snprintf(former.name, sizeof(former.name), "%s", devices->resource_name);
		if (desired_of(container, &former, &desired, NULL) > 0)
			r = add_desired(compare, &desired);
	}
	return r;
}

/* A container whose ids are invalid gets no lease; PreStartContainer reports the error.
 */
static int add_container(struct compare *compare, const Container *container)
{
	const struct clv_kube *kube = compare->pods->kube;
	struct clv_error err = {};
	struct clv_kube_desired desired;
	int r = 0;

	if (kube->settings.undivided == CLV_KUBE_BOTH &&
		pair_of(kube, container, &desired, &err) > 0)
		r = add_desired(compare, &desired);
	for (size_t i = 0; i < kube->n_plugins && r >= 0; i++) {
		const struct clv_kube_resource *resource = kube->resources[i];

		if (!is_in_pair(kube, resource) &&
			desired_of(container, resource, &desired, &err) > 0)
			r = add_desired(compare, &desired);
	}
	return r < 0 ? r : add_former(compare, container);
}

static bool is_own(
	const struct clv_kube_pods *pods, const Podresources__V1__PodResources *pod)
{
	return pods->own_name && strcmp(pod->name, pods->own_name) == 0 &&
	       (!pods->own_namespace ||
		       strcmp(pod->namespace_, pods->own_namespace) == 0);
}

/* The leases from the first on are the pod's. */
static void add_classes(
	struct compare *compare, const Podresources__V1__PodResources *pod, size_t first)
{
	if (!compare->pods->kube->classes)
		return;
	for (size_t i = first; i < compare->n; i++) {
		struct clv_kube_class_pod *place =
			CLV_APPEND(compare->classes, compare->n_classes);

		if (!place)
			return;
		snprintf(place->lease, sizeof(place->lease), "%s",
			compare->desired_leases[i].lease);
		snprintf(place->namespace, sizeof(place->namespace), "%s",
			pod->namespace_);
		snprintf(place->name, sizeof(place->name), "%s", pod->name);
	}
}

static int read_list(struct compare *compare, const List *list)
{
	struct clv_kube_pods *pods = compare->pods;
	uint64_t settle_ns =
		SETTLE_GRACES * pods->kube->settings.grace_ms * CLV_NS_PER_MS;
	bool has_own = !pods->own_name;
	int r = 0;

	for (size_t i = 0; i < list->n_pod_resources && r >= 0; i++) {
		const Podresources__V1__PodResources *pod = list->pod_resources[i];
		size_t first = compare->n;

		has_own = has_own || is_own(pods, pod);
		for (size_t j = 0; j < pod->n_containers && r >= 0; j++)
			r = add_container(compare, pod->containers[j]);
		add_classes(compare, pod, first);
	}
	compare->may_release =
		has_own && compare->asked_ns > compare->kubelet_since_ns + settle_ns;
	return r;
}

static void run_compare(struct clv_kube_job *job, struct clv_kube_lease_sync *sync)
{
	struct compare *compare = (struct compare *)job;
	const struct clv_kube_list list = {.desired_leases = compare->desired_leases,
		.n = compare->n,
		.asked_ns = compare->asked_ns,
		.kubelet_since_ns = compare->kubelet_since_ns,
		.may_release = compare->may_release};

	clv_kube_lease_sync_note(sync, &list);
	if (compare->is_whole)
		compare->r = clv_kube_lease_sync_reconcile(sync, &list, &compare->err);
}

static void free_compare(struct compare *compare)
{
	for (size_t i = 0; i < compare->n; i++)
		clv_kube_desired_clear(&compare->desired_leases[i]);
	free(compare->desired_leases);
	free(compare->classes);
	free(compare);
}

static void done_compare(struct clv_kube_job *job)
{
	struct compare *compare = (struct compare *)job;

	struct clv_kube_classes *classes = compare->pods->kube->classes;

	compare->pods->is_busy = false;
	if (compare->r < 0)
		clv_log_warning(0, "the ledger cannot be compared: %s", compare->err.msg);
	/* Missing leases have been created by now. */
	if (classes && compare->classes)
		clv_kube_classes_list(
			classes, CLV_TAKE(compare->classes), compare->n_classes);
	free_compare(compare);
}

/* A kubelet that starts serves this API before that for plugins, and lists no devices
 * meanwhile.  To be called after its answer: as long as the socket is the former one, so
 * is the kubelet. */
static uint64_t find_start_of_kubelet(struct clv_kube_pods *pods)
{
	uint64_t since_ns = pods->kube->kubelet_since_ns;
	char path[CLV_KUBE_SOCKET_MAX];
	struct stat file = {};

	clv_kube_path(pods->kube, "pod-resources/kubelet.sock", path);
	if (stat(path, &file) < 0 || file.st_ino != pods->inode ||
		memcmp(&file.st_ctim, &pods->changed, sizeof(pods->changed)) != 0)
		pods->since_ns = clv_clock_ns();
	pods->inode = file.st_ino;
	pods->changed = file.st_ctim;
	return since_ns > pods->since_ns ? since_ns : pods->since_ns;
}

/* A whole comparison calls the agent, and calls of kubelet wait for it. */
static bool is_whole_due(struct clv_kube_pods *pods, uint64_t asked_ns)
{
	uint64_t interval_ns = pods->kube->settings.reconcile_ms * CLV_NS_PER_MS;

	if (pods->compared_ns != 0 &&
		asked_ns + CLV_NS_PER_MS < pods->compared_ns + interval_ns)
		return false;
	pods->compared_ns = asked_ns;
	return true;
}

static void begin_compare(struct clv_kube_pods *pods, const List *list, uint64_t asked_ns)
{
	struct compare *compare = calloc(1, sizeof(*compare));

	if (!compare)
		return;
	*compare = (struct compare){.job = {.run = run_compare, .done = done_compare},
		.pods = pods,
		.asked_ns = asked_ns,
		.kubelet_since_ns = find_start_of_kubelet(pods),
		.is_whole = is_whole_due(pods, asked_ns)};
	if (read_list(compare, list) < 0) {
		free_compare(compare);
		return;
	}
	pods->is_busy = true;
	clv_kube_worker_submit(pods->kube->worker, &compare->job);
}

/* --- Search --- */

/* Whether the container's ids of the resource make the lease of that name. */
static bool has_lease(const Container *container,
	const struct clv_kube_resource *resource, const char *lease)
{
	struct clv_kube_desired desired = {};
	bool has = desired_of(container, resource, &desired, NULL) > 0 &&
		   strcmp(desired.lease, lease) == 0;

	clv_kube_desired_clear(&desired);
	return has;
}

static const char *preload_of(const struct clv_kube *kube, const char *name)
{
	const struct clv_kube_device *device =
		clv_kube_inventory_find(&kube->inventory, name);

	return device ? clv_cdi_preload(device->backend) : NULL;
}

bool clv_kube_pods_may_conflict(const struct clv_kube *kube)
{
	const char *first = NULL;

	for (size_t i = 0; i < kube->inventory.n; i++) {
		const char *list = clv_cdi_preload(kube->inventory.items[i].backend);

		if (first && strcmp(first, list) != 0)
			return true;
		first = list;
	}
	return false;
}

/* The list of libraries that a lease of the container's ids preloads; NULL: the container
 * has no such ids, or their device is unknown. */
static const char *preload_for(const struct clv_kube *kube, const Container *container,
	const struct clv_kube_resource *resource)
{
	struct clv_kube_desired desired = {};
	char device[CLV_KUBE_NAME_MAX];

	if (desired_of(container, resource, &desired, NULL) <= 0)
		return NULL;
	snprintf(device, sizeof(device), "%.*s", (int)strcspn(desired.device, ","),
		desired.device);
	clv_kube_desired_clear(&desired);
	return preload_of(kube, device);
}

/* The mounts of one lease's list would replace those of the other's. */
static int check_preloads(
	const struct clv_kube *kube, const Container *container, struct clv_error *err)
{
	const struct clv_kube_resource *first = NULL;
	const char *first_list = NULL;

	for (size_t i = 0; i < kube->n_plugins; i++) {
		const char *list = preload_for(kube, container, kube->resources[i]);

		if (!list)
			continue;
		if (first && strcmp(first_list, list) != 0)
			return clv_error_set(err, -EXDEV,
				"container %.80s has %s and %s, of devices whose gates "
				"cannot be loaded together, so it would be without "
				"limits on one of them: request devices of one vendor",
				container->name, first->name, kube->resources[i]->name);
		first = kube->resources[i];
		first_list = list;
	}
	return 0;
}

static int lease_of(const struct clv_kube *kube, const Container *container,
	const struct clv_kube_resource *resource, struct clv_kube_desired *ret,
	struct clv_error *err)
{
	int r = check_preloads(kube, container, err);

	if (r < 0)
		return r;
	return is_in_pair(kube, resource) ? pair_of(kube, container, ret, err)
					  : desired_of(container, resource, ret, err);
}

static int find_lease(const struct clv_kube *kube, const List *list,
	const struct question *question, struct clv_kube_desired *ret,
	struct clv_error *err)
{
	const struct clv_kube_resource *resource =
		resource_of_name(kube, question->resource);

	for (size_t i = 0; resource && i < list->n_pod_resources; i++) {
		const Podresources__V1__PodResources *pod = list->pod_resources[i];

		for (size_t j = 0; j < pod->n_containers; j++) {
			const Container *container = pod->containers[j];

			if (has_lease(container, resource, question->lease))
				return lease_of(kube, container, resource, ret, err);
		}
	}
	return clv_error_set(err, -ENOENT,
		"kubelet lists no container with these ids of %s, and cleave-kubelet, "
		"since its start, has allocated no share and memory together with them: "
		"an init container must ask for both; delete the pod to start it again",
		question->resource);
}

static void answer_question(
	struct question *question, const List *list, const struct clv_rpc_status *status)
{
	struct clv_kube_desired desired = {};
	struct clv_error err = {};
	int r;

	if (list)
		r = find_lease(question->pods->kube, list, question, &desired, &err);
	else
		r = clv_error_set(&err, -EAGAIN,
			"kubelet's pod-resources API does not answer: %s",
			status->message);
	question->on_container(&desired, r < 0 ? &err : NULL, question->userdata);
	clv_kube_desired_clear(&desired);
}

/* --- Requests --- */

static void free_question(struct question *question)
{
	struct question **at = &question->pods->questions;

	while (*at != question) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = question->next;
	clv_rpc_client_free(question->client);
	free(question);
}

static void on_list(const struct clv_rpc_status *status, const uint8_t *data,
	size_t n_bytes, void *userdata)
{
	static const struct clv_rpc_status unreadable = {
		CLV_RPC_INTERNAL, "the answer is malformed"};
	struct question *question = userdata;
	struct clv_kube_pods *pods = question->pods;
	List *list = status->code == CLV_RPC_OK
			     ? podresources__v1__list_pod_resources_response__unpack(
				       NULL, n_bytes, data)
			     : NULL;

	if (status->code == CLV_RPC_OK && !list)
		status = &unreadable;
	if (question->on_container)
		answer_question(question, list, status);
	else if (list)
		begin_compare(pods, list, question->asked_ns);
	else
		clv_log_debug("pod-resources: %s", status->message);
	if (list)
		podresources__v1__list_pod_resources_response__free_unpacked(list, NULL);
	free_question(question);
}

static struct question *ask(struct clv_kube_pods *pods, struct clv_error *err)
{
	struct question *question = calloc(1, sizeof(*question));
	char path[CLV_KUBE_SOCKET_MAX];
	int r;

	if (!question) {
		clv_error_errno(err, ENOMEM, "cannot ask kubelet");
		return NULL;
	}
	question->pods = pods;
	question->next = pods->questions;
	pods->questions = question;
	question->asked_ns = clv_clock_ns();
	clv_kube_path(pods->kube, "pod-resources/kubelet.sock", path);
	r = clv_rpc_client_new(pods->kube->event, path, &question->client, err);
	if (r >= 0)
		r = clv_rpc_client_call(question->client, "/v1.PodResourcesLister/List",
			NULL, 0, LIST_TIMEOUT_MS, on_list, question);
	if (r >= 0)
		return question;
	free_question(question);
	return NULL;
}

void clv_kube_pods_find(struct clv_kube_pods *pods, const char *resource,
	const char *lease, clv_kube_on_container on_container, void *userdata)
{
	struct clv_error err = {};
	struct question *question = ask(pods, &err);

	if (!question) {
		err.code = -EAGAIN;
		on_container(NULL, &err, userdata);
		return;
	}
	question->on_container = on_container;
	question->userdata = userdata;
	snprintf(question->resource, sizeof(question->resource), "%s", resource);
	snprintf(question->lease, sizeof(question->lease), "%s", lease);
}

static uint64_t interval_us(const struct clv_kube_settings *settings)
{
	uint64_t ms = settings->announces && settings->reconcile_ms > ANNOUNCED_MS
			      ? ANNOUNCED_MS
			      : settings->reconcile_ms;

	return ms * 1000;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct clv_kube_pods *pods = userdata;
	struct clv_error err = {};

	if (!pods->is_busy && pods->kube->n_plugins > 0 && !ask(pods, &err))
		clv_log_debug("%s", err.msg);
	sd_event_source_set_time_relative(source, interval_us(&pods->kube->settings));
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int clv_kube_pods_new(
	struct clv_kube *kube, struct clv_kube_pods **ret, struct clv_error *err)
{
	struct clv_kube_pods *pods = calloc(1, sizeof(*pods));
	int r;

	if (!pods)
		return clv_error_errno(err, ENOMEM, "cannot start");
	pods->kube = kube;
	pods->own_name = getenv("POD_NAME");
	pods->own_namespace = getenv("POD_NAMESPACE");
	r = sd_event_add_time_relative(kube->event, &pods->timer, CLOCK_MONOTONIC, 0,
		CLV_NS_PER_S / 10000, on_timer, pods);
	if (r < 0) {
		clv_kube_pods_free(pods);
		return clv_error_errno(err, -r, "cannot start a timer");
	}
	*ret = pods;
	return 0;
}

struct clv_kube_pods *clv_kube_pods_free(struct clv_kube_pods *pods)
{
	if (!pods)
		return NULL;

	while (pods->questions)
		free_question(pods->questions);
	sd_event_source_disable_unref(pods->timer);
	free(pods);
	return NULL;
}

void clv_kube_pods_reconcile_now(struct clv_kube_pods *pods)
{
	pods->compared_ns = 0;
	sd_event_source_set_time_relative(pods->timer, 0);
	sd_event_source_set_enabled(pods->timer, SD_EVENT_ONESHOT);
}
