/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of the machine: found by the probe or in its cache, kept by UUID until the
 * agent ends, and locked against other agents: by the system's agent as soon as they are
 * known, by others before their first lease or change.  The ledger has what is promised
 * on them. */
#include "agent/device/devices.h"

#include "agent/device/device-cache.h"
#include "agent/device/device-lock.h"
#include "agent/driver/device-json.h"
#include "agent/driver/probe.h"
#include "agent/identity/names.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "arbiter/arbiter.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_DEVICES 16384u /* with partitions; they are never freed */
/* Drivers that showed no device are asked again after this time. */
#define RETRY_NS (5 * CLV_NS_PER_S)
/* A driver that hangs must not hide the devices of the probe. */
#define HOLD_NS (5 * CLV_NS_PER_S)

struct clv_devices {
	struct clv_agent *agent;
	struct clv_agent_device *items[MAX_DEVICES];
	size_t n_items;
	json_t *problems; /* array of strings */
	struct clv_probe *probe;
	bool is_pending;
	json_t *held; /* an answer that is taken once the first survey is answered */
	sd_event_source *held_timer;
	bool was_surveyed; /* the first survey is answered, or no longer awaited */
	char key[17];      /* of the known or the pending answer */
	bool has_answer;   /* the answer for key is known */
	uint64_t answered_ns;
	bool has_no_lock_folder; /* this was logged */
};

int clv_devices_new(
	struct clv_agent *agent, struct clv_devices **ret, struct clv_error *err)
{
	struct clv_devices *devices = calloc(1, sizeof(*devices));

	if (!devices)
		return clv_error_errno(err, ENOMEM, "cannot list devices");
	devices->agent = agent;
	devices->problems = json_array();
	*ret = devices;
	return 0;
}

struct clv_devices *clv_devices_free(struct clv_devices *devices)
{
	if (!devices)
		return NULL;
	clv_probe_free(devices->probe);
	sd_event_source_disable_unref(devices->held_timer);
	json_decref(devices->held);
	for (size_t i = 0; i < devices->n_items; i++) {
		struct clv_agent_device *device = devices->items[i];

		clv_arbiter_free(device->arbiter);
		clv_close_fd(&device->lock_fd);
		free(device->leases);
		free(device);
	}
	json_decref(devices->problems);
	free(devices);
	return NULL;
}

bool clv_devices_is_pending(const struct clv_devices *devices)
{
	return devices->is_pending;
}

size_t clv_devices_count(const struct clv_devices *devices)
{
	return devices->n_items;
}

struct clv_agent_device *clv_devices_at(const struct clv_devices *devices, size_t at)
{
	return devices->items[at];
}

struct clv_agent_device *clv_devices_find(
	const struct clv_devices *devices, const char *name)
{
	struct clv_agent_device *found = NULL;

	/* A partition that was made again has the name of the one before. */
	for (size_t i = 0; i < devices->n_items; i++) {
		struct clv_agent_device *device = devices->items[i];

		if ((!found || (device->is_present && !found->is_present)) &&
			(strcmp(device->info.name, name) == 0 ||
				strcasecmp(device->info.uuid, name) == 0))
			found = device;
	}
	return found;
}

const json_t *clv_devices_problems(const struct clv_devices *devices)
{
	return devices->problems;
}

/* Whether both are names with a number behind the same letters, and the first has the
 * larger one. */
static bool is_numbered_after(const char *a, const char *b)
{
	size_t n = strcspn(a, "0123456789");

	return a[n] != '\0' && strncmp(a, b, n) == 0 && strverscmp(a, b) > 0;
}

/* Whole devices are listed by the numbers in their names, because names may be older than
 * the order in which drivers show the devices now. */
static void insert(struct clv_devices *devices, struct clv_agent_device *device)
{
	size_t at = 0;

	while (at < devices->n_items &&
		(device->info.parent[0] != '\0' ||
			devices->items[at]->info.parent[0] != '\0' ||
			!is_numbered_after(
				devices->items[at]->info.name, device->info.name)))
		at++;
	memmove(&devices->items[at + 1], &devices->items[at],
		(devices->n_items - at) * sizeof(struct clv_agent_device *));
	devices->items[at] = device;
	devices->n_items++;
}

static struct clv_agent_device *add_new(
	struct clv_devices *devices, const struct clv_device *info)
{
	bool is_whole = info->parent[0] == '\0';
	struct clv_agent_device *device;
	const char *name = info->name;

	if (devices->n_items == MAX_DEVICES)
		return NULL;
	if (is_whole)
		name = clv_names_give(devices->agent->names, info->uuid, info->name);
	device = name ? calloc(1, sizeof(*device)) : NULL;
	if (!device)
		return NULL;
	device->info = *info;
	memmove(device->info.name, name, strlen(name) + 1);
	device->lock_fd = -1;
	device->numa_node = device->io_die = -1;
	insert(devices, device);
	return device;
}

struct clv_agent_device *clv_devices_root(struct clv_agent_device *device)
{
	/* Parts of partitions have the whole device as parent too. */
	assert(!device->parent || !device->parent->parent);
	return device->parent ? device->parent : device;
}

struct clv_agent_device *clv_devices_add(
	struct clv_devices *devices, const struct clv_device *info)
{
	struct clv_agent_device *device = clv_devices_find(devices, info->uuid);

	return device ? device : add_new(devices, info);
}

static int type_rank(const char *type)
{
	if (strcmp(type, "gpu") == 0)
		return 0;
	return strcmp(type, "accelerator") == 0 ? 1 : 2;
}

static void add_problem(struct clv_devices *devices, const char *text)
{
	json_array_append_new(devices->problems, json_string(text));
}

/* A device that was known to be divided before the OpenCL drivers were asked lacks the
 * data of these drivers, and so do its partitions: copies it from info. */
static void complete(const struct clv_devices *devices, struct clv_agent_device *device,
	const struct clv_device *info)
{
	if (device->info.locator.platform[0] != '\0')
		return;
	for (size_t i = 0; i < devices->n_items; i++) {
		struct clv_agent_device *each = devices->items[i];

		if (each != device && each->parent != device)
			continue;
		each->info.executor = info->executor;
		each->info.locator = info->locator;
		each->info.max_allocation_bytes = info->max_allocation_bytes;
		if (each->info.max_allocation_bytes > each->info.memory_bytes)
			each->info.max_allocation_bytes = each->info.memory_bytes;
	}
}

/* Takes one device of an answer.  If a second driver shows the same hardware (the same
 * UUID) it is left out, or its capacity would be promised twice. */
static void take_device(struct clv_devices *devices, const struct clv_device *info)
{
	struct clv_agent_device *device = clv_devices_find(devices, info->uuid);
	char text[512];

	if (device && device->is_present) {
		snprintf(text, sizeof(text),
			"%.100s of platform %.100s is left out: it is %s through another "
			"driver",
			info->model, info->locator.platform, device->info.name);
		add_problem(devices, text);
		return;
	}
	if (device)
		complete(devices, device, info);
	else
		device = add_new(devices, info);
	if (device)
		device->is_present = true;
}

static void take_answer(struct clv_devices *devices, const json_t *answer)
{
	const json_t *items = json_object_get(answer, "items");
	const json_t *problems = json_object_get(answer, "problems");
	struct clv_device info;
	const json_t *item;
	size_t i;

	json_array_clear(devices->problems);
	for (i = 0; i < devices->n_items; i++) {
		if (strcmp(devices->items[i]->info.backend, "opencl") == 0 &&
			!devices->items[i]->parent)
			devices->items[i]->is_present = false;
	}
	/* Names are given in this order: GPUs get the lowest numbers, CPUs the last. */
	for (int rank = 0; rank <= 2; rank++) {
		json_array_foreach (items, i, item) {
			if (clv_device_from_json(item, &info, NULL) < 0 ||
				type_rank(info.type) != rank)
				continue;
			info.name[0] = '\0';
			take_device(devices, &info);
		}
	}
	json_array_foreach (problems, i, item) {
		if (json_is_string(item))
			add_problem(devices, json_string_value(item));
	}
	for (i = 0; i < json_array_size(devices->problems); i++)
		clv_log_warning(
			0, "%s", json_string_value(json_array_get(devices->problems, i)));
	devices->has_answer = true;
	devices->answered_ns = clv_clock_ns();
}

/* A user can lock out other users' agents, because they all lock the same files, but not
 * the system's, which has a folder of its own. */
static void warn_of_user(const struct clv_device *info)
{
	struct clv_error err = {0};
	pid_t holder = clv_device_lock_holder(CLV_PATH_LOCKS, info->uuid);

	if (holder == 0)
		return;
	clv_device_lock_refuse(holder, &err);
	clv_log_warning(
		0, "%s: %s; this agent divides it nevertheless", info->name, err.msg);
}

static int lock(
	struct clv_devices *devices, const struct clv_device *info, struct clv_error *err)
{
	const struct clv_agent_config *config = &devices->agent->config;
	struct clv_lock_folder folder = {config->locks, config->is_system};
	char socket_path[CLV_FOLDER_MAX + 16];
	int fd;

	snprintf(socket_path, sizeof(socket_path), "%s/api.sock", config->runtime);
	fd = clv_device_lock(&folder, info->uuid, socket_path, err);
	if (fd != -EACCES)
		return fd;
	if (!devices->has_no_lock_folder)
		clv_log_warning(0,
			"%s; %s is used instead, which does not keep other agents off "
			"the device",
			err ? err->msg : config->locks, config->runtime);
	devices->has_no_lock_folder = true;
	folder = (struct clv_lock_folder){config->runtime, true};
	return clv_device_lock(&folder, info->uuid, socket_path, err);
}

int clv_devices_claim(struct clv_devices *devices, struct clv_agent_device *device,
	struct clv_error *err)
{
	bool is_system = devices->agent->config.is_system;
	pid_t holder;
	int fd;

	device = clv_devices_root(device);
	/* The system's agent may have started after this agent took its lock. */
	holder = is_system ? 0
			   : clv_device_lock_holder(
				     CLV_PATH_SYSTEM_LOCKS, device->info.uuid);
	if (device->lock_fd >= 0 && holder == 0)
		return 0;
	fd = holder > 0 ? clv_device_lock_refuse(holder, err)
			: lock(devices, &device->info, err);
	if (fd < 0) {
		clv_error_prefix(err, "%s", device->info.name);
		return fd;
	}
	device->lock_fd = fd;
	if (is_system)
		warn_of_user(&device->info);
	return 0;
}

void clv_devices_claim_all(struct clv_devices *devices)
{
	if (!devices->agent->config.is_system)
		return;
	for (size_t i = 0; i < devices->n_items; i++) {
		struct clv_error err = {0};

		if (devices->items[i]->parent || devices->items[i]->was_refused ||
			clv_devices_claim(devices, devices->items[i], &err) >= 0)
			continue;
		devices->items[i]->was_refused = true;
		clv_log_warning(0, "%s", err.msg);
	}
}

/* Whether a device of the answer has no name yet. */
static bool has_new(const struct clv_devices *devices, const json_t *answer)
{
	struct clv_device info;
	const json_t *item;
	size_t i;

	json_array_foreach (json_object_get(answer, "items"), i, item) {
		if (clv_device_from_json(item, &info, NULL) >= 0 &&
			!clv_names_find(devices->agent->names, info.uuid))
			return true;
	}
	return false;
}

static void announce(struct clv_devices *devices)
{
	clv_devices_claim_all(devices);
	clv_notify_changed(devices->agent->notify, CLV_TOPIC_DEVICES);
	clv_notify(devices->agent->notify, CLV_NOTICE_STATUS);
}

void clv_devices_take_held(struct clv_devices *devices)
{
	json_t *answer = devices->held;

	devices->held_timer = sd_event_source_disable_unref(devices->held_timer);
	devices->held = NULL;
	devices->was_surveyed = true;
	if (!answer)
		return;
	devices->is_pending = false;
	take_answer(devices, answer);
	json_decref(answer);
	announce(devices);
}

static int on_held(sd_event_source *source, uint64_t now_us, void *userdata)
{
	clv_devices_take_held(userdata);
	return 0;
}

/* New devices get their names in one order, whichever driver answers first: those of the
 * survey come before those that only OpenCL shows.  False: the answer is to be used now.
 */
static bool hold(struct clv_devices *devices, const json_t *answer)
{
	if (devices->was_surveyed || !has_new(devices, answer) ||
		sd_event_add_time_relative(devices->agent->event, &devices->held_timer,
			CLOCK_MONOTONIC, HOLD_NS / CLV_NS_PER_US, 0, on_held,
			devices) < 0)
		return false;
	json_decref(devices->held);
	devices->held = json_incref((json_t *)(uintptr_t)answer);
	devices->is_pending = true;
	return true;
}

static void on_answer(void *userdata, const json_t *answer)
{
	struct clv_devices *devices = userdata;
	bool is_held = hold(devices, answer);

	if (!is_held) {
		devices->is_pending = false;
		take_answer(devices, answer);
	}
	/* Only an answer without problems is cached: a failure may be transient. */
	if (json_array_size(json_object_get(answer, "items")) > 0 &&
		json_array_size(json_object_get(answer, "problems")) == 0)
		clv_device_cache_save(devices->agent->config.state, devices->key, answer);
	if (!is_held)
		announce(devices);
}

static bool is_settled(const struct clv_devices *devices, const char *key)
{
	if (!devices->has_answer || strcmp(key, devices->key) != 0)
		return false;
	for (size_t i = 0; i < devices->n_items; i++) {
		if (devices->items[i]->is_present)
			return true;
	}
	return clv_clock_ns() - devices->answered_ns < RETRY_NS;
}

void clv_devices_refresh(struct clv_devices *devices)
{
	struct clv_error err = {0};
	char key[17];
	json_t *cached;

	/* The devices of a simulated node all come from the worker. */
	if (devices->is_pending || devices->agent->config.sim[0] != '\0')
		return;
	clv_device_cache_key(key);
	if (is_settled(devices, key))
		return;

	memcpy(devices->key, key, sizeof(key));
	cached = clv_device_cache_load(devices->agent->config.state, key);
	if (cached) {
		if (!hold(devices, cached))
			take_answer(devices, cached);
		json_decref(cached);
		return;
	}
	devices->probe = clv_probe_free(devices->probe);
	devices->is_pending = true;
	if (clv_probe_start(devices->agent->event, on_answer, devices, &devices->probe,
		    &err) < 0) {
		devices->is_pending = false;
		json_array_clear(devices->problems);
		add_problem(devices, err.msg);
	}
}

struct clv_agent_device *clv_devices_restore(
	struct clv_devices *devices, const char *json, struct clv_error *err)
{
	json_t *object = json_loads(json, 0, NULL);
	struct clv_agent_device *device;
	struct clv_device info;
	int r = clv_device_from_json(object, &info, err);

	json_decref(object);
	if (r < 0)
		return NULL;
	device = clv_devices_find(devices, info.uuid);
	if (!device)
		device = add_new(devices, &info);
	if (device && info.parent[0] != '\0' && !device->parent)
		device->parent = clv_devices_find(devices, info.parent);
	if (!device)
		clv_error_errno(err, ENOMEM, "cannot restore a device");
	return device;
}

static bool is_needed(
	const struct clv_devices *devices, const struct clv_agent_device *root)
{
	if (root->n_leases > 0 || root->operation)
		return true;
	for (size_t i = 0; i < devices->n_items; i++) {
		struct clv_agent_device *part = devices->items[i];

		if (clv_devices_root(part) == root && part->n_leases > 0)
			return true;
	}
	return false;
}

void clv_devices_unclaim(struct clv_devices *devices, struct clv_agent_device *device)
{
	device = clv_devices_root(device);
	if (devices->agent->config.is_system || device->lock_fd < 0 ||
		is_needed(devices, device))
		return;
	close(device->lock_fd);
	device->lock_fd = -1;
}
