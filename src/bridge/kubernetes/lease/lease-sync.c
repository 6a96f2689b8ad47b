/* SPDX-License-Identifier: Apache-2.0 */
/* A lease is released when kubelet has allocated its ids to another container or started
 * one that has them, or has not listed them for the grace period.  The agent refuses to
 * release a lease with living processes; the release is retried then. */
#include "bridge/kubernetes/lease/lease-sync.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "bridge/cdi/driver.h"
#include "bridge/kubernetes/lease/refusal.h"
#include "bridge/kubernetes/lease/spec.h"
#include "bridge/kubernetes/lease/strategy.h"

#include <assert.h>
#include <cleave.h>
#include <errno.h>
#include <jansson.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLV_KUBE_LIST_MAX 65 /* names of devices: one more than the agent accepts */

struct entry {
	struct clv_kube_desired desired;
	uint64_t held_ns;   /* when kubelet last requested or listed it */
	uint64_t listed_ns; /* when kubelet last listed its container; 0: never */
	bool is_unlisted;   /* and a later list lacks it */
};

struct clv_kube_lease_sync {
	struct clv_kube_settings settings;
	int interrupt_fd;
	struct clv_client *client;
	struct clv_kube_strategy strategy;
	struct clv_cdi_driver *driver; /* NULL: not yet */
	unsigned ways; /* of enum clv_kube_way: the driver's entries are for these */
	pthread_mutex_t
		lock; /* held by the worker to change entries, by others to read */
	struct entry *entries;
	size_t n;
	unsigned n_looks; /* reconciliations that may be skipped */
	uint64_t began_ns;
};

int clv_kube_lease_sync_new(const struct clv_kube_settings *settings, int interrupt_fd,
	struct clv_kube_lease_sync **ret, struct clv_error *err)
{
	struct clv_kube_lease_sync *sync = calloc(1, sizeof(*sync));
	int r;

	if (!sync)
		return clv_error_errno(err, ENOMEM, "cannot start");
	r = clv_cdi_driver_new(settings->driver_root, settings->cdi, &sync->driver, err);
	if (r < 0) {
		free(sync);
		return r;
	}
	pthread_mutex_init(&sync->lock, NULL);
	sync->settings = *settings;
	sync->interrupt_fd = interrupt_fd;
	sync->began_ns = clv_clock_ns();
	*ret = sync;
	return 0;
}

struct clv_kube_lease_sync *clv_kube_lease_sync_free(struct clv_kube_lease_sync *sync)
{
	if (!sync)
		return NULL;

	for (size_t i = 0; i < sync->n; i++)
		clv_kube_desired_clear(&sync->entries[i].desired);
	free(sync->entries);
	clv_client_free(sync->client);
	clv_cdi_driver_free(sync->driver);
	pthread_mutex_destroy(&sync->lock);
	free(sync);
	return NULL;
}

int clv_kube_lease_sync_client(
	struct clv_kube_lease_sync *sync, struct clv_client **ret, struct clv_error *err)
{
	const struct clv_client_options options = {
		.socket_path =
			sync->settings.agent[0] != '\0' ? sync->settings.agent : NULL,
		.interrupt_fd = sync->interrupt_fd,
	};
	struct clv_client_error failure;
	int r = 0;

	if (!sync->client)
		r = clv_client_new(&options, &sync->client, &failure);
	if (r < 0)
		return clv_error_set(err, r, "%s", failure.msg);
	*ret = sync->client;
	return 0;
}

/* --- Entries --- */

static struct entry *find(struct clv_kube_lease_sync *sync, const char *lease)
{
	for (size_t i = 0; i < sync->n; i++) {
		if (strcmp(sync->entries[i].desired.lease, lease) == 0)
			return &sync->entries[i];
	}
	return NULL;
}

static void forget(struct clv_kube_lease_sync *sync, struct entry *entry)
{
	assert(entry >= sync->entries && entry < sync->entries + sync->n);
	pthread_mutex_lock(&sync->lock);
	clv_kube_desired_clear(&entry->desired);
	*entry = sync->entries[--sync->n];
	pthread_mutex_unlock(&sync->lock);
}

static int append(struct clv_kube_lease_sync *sync,
	const struct clv_kube_desired *desired, uint64_t held_ns)
{
	struct entry *entry;

	assert(!find(sync, desired->lease)); /* a lease has one entry */
	pthread_mutex_lock(&sync->lock);
	entry = CLV_APPEND(sync->entries, sync->n);
	if (entry)
		*entry = (struct entry){.desired = *desired, .held_ns = held_ns};
	pthread_mutex_unlock(&sync->lock);
	return entry ? 0 : -ENOMEM;
}

static int record(struct clv_kube_lease_sync *sync,
	const struct clv_kube_desired *desired, uint64_t held_ns, struct clv_error *err)
{
	struct entry *entry = find(sync, desired->lease);
	struct clv_kube_desired copy;

	if (entry && entry->held_ns < held_ns) {
		pthread_mutex_lock(&sync->lock);
		entry->held_ns = held_ns;
		entry->is_unlisted = false;
		pthread_mutex_unlock(&sync->lock);
	}
	if (entry)
		return 0;
	if (clv_kube_desired_copy(desired, &copy) < 0)
		return clv_error_errno(
			err, ENOMEM, "cannot record lease %s", desired->lease);
	/* The device of a claim is a text on the caller's stack. */
	if (copy.units.n == 0)
		copy.device = "";
	if (append(sync, &copy, held_ns) >= 0)
		return 0;
	clv_kube_desired_clear(&copy);
	return clv_error_errno(err, ENOMEM, "cannot record lease %s", desired->lease);
}

void clv_kube_lease_sync_list_taken(
	struct clv_kube_lease_sync *sync, struct clv_kube_taken *taken)
{
	pthread_mutex_lock(&sync->lock);
	for (size_t i = 0; i < sync->n; i++)
		clv_kube_taken_add(taken, &sync->entries[i].desired);
	pthread_mutex_unlock(&sync->lock);
	clv_kube_taken_sort(taken);
}

json_t *clv_kube_lease_sync_list_unlisted(struct clv_kube_lease_sync *sync)
{
	json_t *names = NULL;

	pthread_mutex_lock(&sync->lock);
	for (size_t i = 0; i < sync->n; i++) {
		if (!sync->entries[i].is_unlisted)
			continue;
		if (!names)
			names = json_object();
		json_object_set_new(names, sync->entries[i].desired.lease, json_true());
	}
	pthread_mutex_unlock(&sync->lock);
	return names;
}

/* --- The agent's leases --- */

int clv_kube_lease_sync_release(
	struct clv_kube_lease_sync *sync, const char *lease, struct clv_error *err)
{
	struct clv_client_error failure;
	struct clv_client *client;
	struct entry *entry;
	int r = clv_kube_lease_sync_client(sync, &client, err);

	if (r < 0)
		return r;
	r = clv_client_lease_release(client, lease, false, &failure);
	if (r < 0 && strcmp(failure.code, "not_found") != 0)
		return clv_kube_refuse(-EAGAIN, failure.msg, err);
	clv_kube_spec_remove(&sync->settings, lease);
	entry = find(sync, lease);
	if (entry)
		forget(sync, entry);
	return 0;
}

static int release_overlapping(struct clv_kube_lease_sync *sync,
	const struct clv_kube_desired *desired, bool with_itself, struct clv_error *err)
{
	for (size_t i = sync->n; i-- > 0;) {
		struct entry *entry = &sync->entries[i];
		int r;

		if (strcmp(entry->desired.lease, desired->lease) == 0
				? !with_itself
				: !clv_kube_desired_overlaps(&entry->desired, desired))
			continue;
		r = clv_kube_lease_sync_release(sync, entry->desired.lease, err);
		if (r < 0)
			return clv_error_prefix(
				err, "ids that kubelet has allocated again");
	}
	return 0;
}

static bool is_same_share(const json_t *lease, const struct clv_kube_desired *desired)
{
	double share = json_number_value(json_object_get(lease, "share"));
	json_int_t memory = json_integer_value(json_object_get(lease, "memory_bytes"));

	if (desired->share_ppm && (uint32_t)(share * CLV_PPM + 0.5) != desired->share_ppm)
		return false;
	return desired->memory_bytes == 0 || (uint64_t)memory == desired->memory_bytes;
}

/* Whether the lease has the devices of the list and no other. */
static bool has_devices(const json_t *lease, const char *names)
{
	const json_t *devices = json_object_get(lease, "devices"), *device;
	size_t i, n = 1;

	for (const char *p = names; *p != '\0'; p++)
		n += *p == ',';
	json_array_foreach (devices, i, device) {
		const char *name = json_string_value(json_object_get(device, "name"));
		size_t n_name = name ? strlen(name) : 0;
		const char *at = name ? strstr(names, name) : NULL;

		while (at && ((at != names && at[-1] != ',') ||
				     (at[n_name] != ',' && at[n_name] != '\0')))
			at = strstr(at + 1, name);
		if (!at)
			return false;
	}
	return json_array_size(devices) == n;
}

/* Whether an existing lease is kept and has the wanted devices and size. */
static bool is_as_wanted(const json_t *lease, const struct clv_kube_desired *desired)
{
	return json_is_true(json_object_get(lease, "kept")) &&
	       has_devices(lease, desired->device) && is_same_share(lease, desired);
}

/* Splits names in place. */
static size_t split(char *names, const char *ret[CLV_KUBE_LIST_MAX])
{
	char *rest = names, *name;
	size_t n = 0;

	while (n < CLV_KUBE_LIST_MAX && (name = strsep(&rest, ",")))
		ret[n++] = name;
	return n;
}

static void add_options(const struct clv_kube_lease_options *options,
	struct clv_client_lease_request *request)
{
	if (options->class_name[0] != '\0')
		request->class_name = options->class_name;
	request->cap_ppm = options->cap_ppm;
	request->share_most_ppm = options->share_most_ppm;
	request->sm_ppm = options->sm_ppm;
	request->spill_bytes = options->spill_bytes;
}

static int create(struct clv_client *client, const struct clv_kube_desired *desired,
	json_t **ret, struct clv_client_error *failure)
{
	struct clv_client_lease_request request = {
		.name = desired->lease,
		.command = desired->units.resource ? desired->units.resource
						   : desired->device,
		.memory_bytes = desired->memory_bytes,
		.keep = true,
		.admit = "socket",
	};
	const char *devices[CLV_KUBE_LIST_MAX];
	char names[CLV_KUBE_DEVICES_MAX];

	snprintf(names, sizeof(names), "%s", desired->device);
	request.n_devices = split(names, devices);
	request.devices = devices;
	/* Several devices are always whole, so a request for them has no share. */
	if (request.n_devices < 2) {
		request.n_devices = 0;
		request.device = desired->device;
		request.share_ppm = desired->share_ppm;
	}
	if (desired->options)
		add_options(desired->options, &request);
	return clv_client_lease_create(client, &request, ret, failure);
}

/* Returns 1 and the lease if it exists as wanted, or 0 if there is none.  A lease that
 * differs, for example from an earlier configuration, is released. */
static int look_up(struct clv_kube_lease_sync *sync,
	const struct clv_kube_desired *desired, bool is_new, json_t **ret,
	struct clv_error *err)
{
	struct clv_client_error failure;
	json_t *lease = NULL;
	int r = clv_client_lease(sync->client, desired->lease, &lease, &failure);

	if (r < 0)
		return strcmp(failure.code, "not_found") == 0
			       ? 0
			       : clv_kube_refuse(r, failure.msg, err);
	if (!is_new && is_as_wanted(lease, desired)) {
		*ret = lease;
		return 1;
	}
	json_decref(lease);
	return clv_kube_lease_sync_release(sync, desired->lease, err);
}

/* Creates the lease or finds it.  A lease with an entry probably exists, so it is looked
 * up first; any other is created first. */
static int find_or_create(struct clv_kube_lease_sync *sync,
	const struct clv_kube_desired *desired, bool is_new, json_t **ret,
	struct clv_error *err)
{
	struct clv_client_error failure;
	struct clv_client *client;
	int r = clv_kube_lease_sync_client(sync, &client, err);

	if (r >= 0 && find(sync, desired->lease))
		r = look_up(sync, desired, is_new, ret, err);
	if (r != 0)
		return r;
	r = create(client, desired, ret, &failure);
	if (r < 0 && strcmp(failure.code, "name_in_use") == 0) {
		r = look_up(sync, desired, is_new, ret, err);
		if (r != 0)
			return r;
		r = create(client, desired, ret, &failure);
	}
	if (r < 0 && strcmp(failure.code, "does_not_fit") == 0)
		return clv_kube_refuse_room(
			-EBUSY, failure.msg, desired->units.n == 0, err);
	return r < 0 ? clv_kube_refuse(r, failure.msg, err) : 0;
}

/* --- What containers get --- */

static bool are_mounts(unsigned ways)
{
	return (ways & CLV_KUBE_BY_MOUNTS) != 0;
}

/* The vendors' entries need hooks, which mounts do not have. */
static int open_driver(struct clv_kube_lease_sync *sync, struct clv_error *err)
{
	unsigned before = sync->ways;

	sync->ways = clv_kube_strategy_ways(&sync->strategy, &sync->settings);
	if (sync->driver && are_mounts(before) == are_mounts(sync->ways))
		return 0;
	sync->driver = clv_cdi_driver_free(sync->driver);
	return clv_cdi_driver_new(sync->settings.driver_root,
		are_mounts(sync->ways) ? NULL : sync->settings.cdi, &sync->driver, err);
}

static int write_spec(
	struct clv_kube_lease_sync *sync, const json_t *lease, struct clv_error *err)
{
	int r = open_driver(sync, err);

	if (r >= 0)
		r = clv_kube_spec_write(&sync->settings, sync->driver, lease, err);
	if (r >= 0 && are_mounts(sync->ways))
		r = clv_kube_spec_link(&sync->settings, lease, err);
	return r;
}

int clv_kube_lease_sync_deliver(struct clv_kube_lease_sync *sync, const char *lease,
	unsigned *ret_ways, struct json_t **ret_edits, struct clv_error *err)
{
	*ret_ways = sync->ways;
	*ret_edits = NULL;
	return are_mounts(sync->ways)
		       ? clv_kube_spec_edits(&sync->settings, lease, ret_edits, err)
		       : 0;
}

int clv_kube_lease_sync_hold(struct clv_kube_lease_sync *sync,
	const struct clv_kube_desired *desired, bool is_new, struct clv_error *err)
{
	json_t *lease = NULL;
	int r = release_overlapping(sync, desired, is_new, err);

	if (r >= 0)
		r = find_or_create(sync, desired, is_new, &lease, err);
	if (r >= 0)
		r = write_spec(sync, lease, err);
	if (r >= 0)
		r = record(sync, desired, clv_clock_ns(), err);
	json_decref(lease);
	return r;
}

/* --- Reconciliation --- */

/* At most this number of reconciliations in a row is skipped because nothing has changed.
 */
#define LOOKS_MOST 30u

static bool has_number(
	const struct clv_kube_desired *desired_leases, size_t n, uint64_t number)
{
	for (size_t i = 0; i < n; i++) {
		if (desired_leases[i].number == number)
			return true;
	}
	return false;
}

static bool has_entry_of(const struct clv_kube_lease_sync *sync, uint64_t number)
{
	for (size_t i = 0; i < sync->n; i++) {
		if (sync->entries[i].desired.number == number)
			return true;
	}
	return false;
}

/* Whether each container has an entry and each entry a container: then the agent's leases
 * need not be read. */
static bool is_settled(const struct clv_kube_lease_sync *sync,
	const struct clv_kube_desired *desired_leases, size_t n_desired)
{
	for (size_t i = 0; i < n_desired; i++) {
		if (!has_entry_of(sync, desired_leases[i].number))
			return false;
	}
	for (size_t i = 0; i < sync->n; i++) {
		/* Entries of claims have the number 0. */
		if (sync->entries[i].desired.number != 0 &&
			!has_number(desired_leases, n_desired,
				sync->entries[i].desired.number))
			return false;
	}
	return true;
}

static const struct clv_kube_desired *find_desired(
	const struct clv_kube_desired *desired_leases, size_t n, const char *lease)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(desired_leases[i].lease, lease) == 0)
			return &desired_leases[i];
	}
	return NULL;
}

static const json_t *find_lease(const json_t *leases, const char *name)
{
	const json_t *items = json_object_get(leases, "items"), *lease;
	size_t i;

	json_array_foreach (items, i, lease) {
		const char *other = json_string_value(json_object_get(lease, "name"));

		if (other && strcmp(other, name) == 0)
			return lease;
	}
	return NULL;
}

/* A lease that exists and is as wanted, or whose device does not exist now, is left
 * alone.
 */
static bool is_in_order(const json_t *leases, const struct clv_kube_desired *desired)
{
	const json_t *lease = find_lease(leases, desired->lease);

	return desired->device[0] == '\0' || (lease && is_as_wanted(lease, desired));
}

static int keep(struct clv_kube_lease_sync *sync, const json_t *leases,
	const struct clv_kube_desired *desired, uint64_t asked_ns, struct clv_error *err)
{
	int r = 0;

	if (desired->device[0] != '\0')
		r = write_spec(sync, find_lease(leases, desired->lease), err);
	return r < 0 ? r : record(sync, desired, asked_ns, err);
}

/* Whether units of the lease belong to another container, which was allocated or started
 * later: the list is older than that, or the container is an init container, which
 * kubelet does not list, and the desired lease is of a container behind it. */
static bool is_outdated(
	const struct clv_kube_lease_sync *sync, const struct clv_kube_desired *desired)
{
	for (size_t i = 0; i < sync->n; i++) {
		const struct entry *entry = &sync->entries[i];

		if (strcmp(entry->desired.lease, desired->lease) != 0 &&
			clv_kube_desired_overlaps(&entry->desired, desired))
			return true;
	}
	return false;
}

/* Returns the number of leases that could not be reconciled.  Those in order come first:
 * the creation of another one releases leases that have its units. */
static int reconcile_desired(struct clv_kube_lease_sync *sync, const json_t *leases,
	const struct clv_kube_desired *desired_leases, size_t n_desired,
	uint64_t asked_ns, struct clv_error *err)
{
	int n_failed = 0;

	for (size_t i = 0; i < 2 * n_desired; i++) {
		const struct clv_kube_desired *desired = &desired_leases[i % n_desired];
		bool is_first = i < n_desired;
		struct clv_error why = {};
		int r = 0;

		if (is_in_order(leases, desired) != is_first)
			continue;
		if (is_first)
			r = keep(sync, leases, desired, asked_ns, &why);
		else if (!is_outdated(sync, desired))
			r = clv_kube_lease_sync_hold(sync, desired, false, &why);
		if (r >= 0)
			continue;
		clv_log_warning(0, "%s of %s: %s", desired->lease,
			desired->units.resource, why.msg);
		*err = why;
		n_failed++;
	}
	return n_failed;
}

/* Whether a container of the list has units of the lease.  Kubelet does not list init
 * containers, but gives their units to the containers behind them. */
static bool is_shared(const struct entry *entry,
	const struct clv_kube_desired *desired_leases, size_t n_desired)
{
	for (size_t i = 0; i < n_desired; i++) {
		if (clv_kube_desired_overlaps(&entry->desired, &desired_leases[i]))
			return true;
	}
	return false;
}

/* A kubelet that has just started lists only some of its containers, so only what the
 * same kubelet has listed before can have ended. */
void clv_kube_lease_sync_note(
	struct clv_kube_lease_sync *sync, const struct clv_kube_list *list)
{
	pthread_mutex_lock(&sync->lock);
	for (size_t i = 0; i < sync->n; i++) {
		struct entry *entry = &sync->entries[i];
		bool is_listed =
			has_number(list->desired_leases, list->n, entry->desired.number);

		if (is_listed)
			entry->listed_ns = list->asked_ns;
		entry->is_unlisted = !is_listed &&
				     entry->listed_ns > list->kubelet_since_ns &&
				     list->asked_ns > entry->held_ns &&
				     !is_shared(entry, list->desired_leases, list->n);
	}
	pthread_mutex_unlock(&sync->lock);
}

/* Whether no container has had the lease for the grace period.  As long as kubelet lists
 * a container with units of it, the lease of an init container is needed until such a
 * container is started. */
static bool is_stale(struct clv_kube_lease_sync *sync, const char *lease,
	const struct clv_kube_desired *desired_leases, size_t n_desired,
	uint64_t asked_ns)
{
	struct entry *entry = find(sync, lease);
	uint64_t held_ns = entry ? entry->held_ns : sync->began_ns;

	if (entry && is_shared(entry, desired_leases, n_desired)) {
		entry->held_ns = held_ns > asked_ns ? held_ns : asked_ns;
		return false;
	}
	return asked_ns > held_ns + sync->settings.grace_ms * CLV_NS_PER_MS;
}

static bool is_ours(const json_t *lease, const char *name)
{
	return name && json_is_true(json_object_get(lease, "kept")) &&
	       strncmp(name, CLV_KUBE_LEASE_PREFIX, strlen(CLV_KUBE_LEASE_PREFIX)) == 0;
}

/* Returns the number of kept leases without a container that remain. */
static int release_stale(struct clv_kube_lease_sync *sync, const json_t *leases,
	const struct clv_kube_desired *desired_leases, size_t n_desired,
	uint64_t asked_ns, struct clv_error *err)
{
	const json_t *items = json_object_get(leases, "items"), *lease;
	int n_left = 0;
	size_t i;

	json_array_foreach (items, i, lease) {
		const char *name = json_string_value(json_object_get(lease, "name"));

		if (!is_ours(lease, name) ||
			find_desired(desired_leases, n_desired, name))
			continue;
		if (!is_stale(sync, name, desired_leases, n_desired, asked_ns) ||
			clv_kube_lease_sync_release(sync, name, err) < 0)
			n_left++;
		else
			clv_log_info("released %s, which no container has", name);
	}
	return n_left;
}

/* For clv_kube_spec_sweep(): a CDI file without an entry is left over from a crash. */
static bool has_entry(const char *lease, const void *userdata)
{
	const struct clv_kube_lease_sync *sync = userdata;

	for (size_t i = 0; i < sync->n; i++) {
		if (strcmp(sync->entries[i].desired.lease, lease) == 0)
			return true;
	}
	return false;
}

int clv_kube_lease_sync_reconcile(struct clv_kube_lease_sync *sync,
	const struct clv_kube_list *list, struct clv_error *err)
{
	uint64_t asked_ns = list->asked_ns;
	struct clv_client_error failure;
	struct clv_client *client;
	json_t *leases = NULL;
	int n_failed, r;

	if (sync->n_looks > 0 && is_settled(sync, list->desired_leases, list->n)) {
		sync->n_looks--;
		return 0;
	}
	r = clv_kube_lease_sync_client(sync, &client, err);
	if (r < 0)
		return r;
	r = clv_client_leases(client, &leases, &failure);
	if (r < 0)
		return clv_error_set(err, r, "%s", failure.msg);
	n_failed = reconcile_desired(
		sync, leases, list->desired_leases, list->n, asked_ns, err);
	n_failed += release_stale(sync, leases, list->desired_leases, list->n,
		list->may_release ? asked_ns : 0, err);
	if (list->may_release &&
		asked_ns > sync->began_ns + sync->settings.grace_ms * CLV_NS_PER_MS)
		clv_kube_spec_sweep(&sync->settings, has_entry, sync);
	json_decref(leases);
	malloc_trim(0);
	if (n_failed == 0)
		sync->n_looks = LOOKS_MOST;
	return n_failed;
}

void clv_kube_lease_sync_invalidate(struct clv_kube_lease_sync *sync)
{
	sync->n_looks = 0;
}
