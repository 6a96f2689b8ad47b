/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an agent's node into a fleet, from the API's answers. */
#include "cli/fleet/live-fleet.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"
#include "core/gpu/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB_SHIFT 20

static uint32_t mib_of(const json_t *object, const char *key)
{
	return (uint32_t)(clv_json_bytes(object, key) >> MIB_SHIFT);
}

static uint32_t milli_of(double share)
{
	return (uint32_t)(share * CLV_PLACE_WHOLE + 1e-6);
}

static const char *profile_of(const json_t *device)
{
	return clv_json_text(json_object_get(device, "partition"), "profile");
}

static bool is_open(const json_t *device)
{
	const json_t *health = json_object_get(device, "health");

	return !clv_json_flag(device, "cordoned") &&
	       strcmp(clv_json_text(health, "state"), "ok") == 0;
}

static bool are_of_one_kind(const json_t *a, const json_t *b)
{
	return strcmp(clv_json_text(a, "model"), clv_json_text(b, "model")) == 0 &&
	       strcmp(profile_of(a), profile_of(b)) == 0 &&
	       clv_json_bytes(a, "memory_bytes") == clv_json_bytes(b, "memory_bytes");
}

static int find_kind(struct clv_live_fleet *live, const json_t *device)
{
	for (unsigned i = 0; i < live->n_kinds; i++) {
		if (are_of_one_kind(live->kinds[i].device, device))
			return (int)i;
	}
	if (live->n_kinds == CLV_LIVE_KINDS_MAX)
		return -ENOSPC;
	snprintf(live->kinds[live->n_kinds].model, sizeof(live->kinds->model), "k%u",
		live->n_kinds);
	live->kinds[live->n_kinds].device = device;
	return (int)live->n_kinds++;
}

static bool is_named(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; at && *at;
		at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
		if (strcspn(at, ",") == length && strncmp(at, name, length) == 0)
			return true;
	}
	return false;
}

static bool is_movable(const struct clv_live_fleet *live, const json_t *lease)
{
	return json_is_null(json_object_get(lease, "in")) &&
	       *clv_json_text(lease, "holder") == '\0' &&
	       !is_named(live->keep, clv_json_text(lease, "name")) &&
	       !is_named(live->keep, clv_json_text(lease, "id"));
}

/* Whether the lease is active on this device alone, and not overcommitted. */
static bool is_on(const json_t *lease, const char *device)
{
	return strcmp(clv_json_text(lease, "device"), device) == 0 &&
	       strcmp(clv_json_text(lease, "state"), "active") == 0 &&
	       json_array_size(json_object_get(lease, "devices")) <= 1 &&
	       !clv_json_flag(lease, "overcommit");
}

static int take(struct clv_live_fleet *live, const struct clv_place_request *request,
	const struct clv_place_at *at, struct clv_live_item item)
{
	uint32_t lease;
	int r = clv_fleet_take(live->fleet, request, at, &lease);

	if (r < 0)
		return r;
	if (lease >= live->room)
		return -ENOSPC;
	live->items[lease] = item;
	return 0;
}

/* The promised part of a lease's share. */
static double promise_of(const json_t *lease)
{
	const json_t *range = json_object_get(lease, "share_range");

	return json_is_object(range) ? clv_json_number(range, "least")
				     : clv_json_number(lease, "share");
}

/* Places the leases that the caller sees, and as one fixed item the rest of what is
 * promised on the device. */
static int take_promised(struct clv_live_fleet *live, const json_t *device,
	const struct clv_place_at *at, const struct clv_fleet_device *free)
{
	double share = clv_json_number(device, "share_promised");
	struct clv_place_request request = {.n_devices = 1, .class = CLV_CLASS_NORMAL};
	uint32_t milli = milli_of(share + 0.000999);
	uint32_t mib = mib_of(device, "memory_promised_bytes");
	const json_t *lease;
	size_t i;

	json_array_foreach (live->leases, i, lease) {
		if (!is_on(lease, clv_json_text(device, "name")))
			continue;
		request.milli = (uint16_t)milli_of(promise_of(lease));
		request.device_mib = mib_of(lease, "memory_bytes");
		if (take(live, &request, at,
			    (struct clv_live_item){.lease = lease,
				    .is_movable = is_movable(live, lease)}) < 0)
			continue;
		milli -= request.milli < milli ? request.milli : milli;
		mib -= request.device_mib < mib ? request.device_mib : mib;
	}
	request.milli = (uint16_t)(milli < free->free_milli ? milli : free->free_milli);
	request.device_mib = mib < free->free_mib ? mib : free->free_mib;
	return take(live, &request, at, (struct clv_live_item){0});
}

static bool are_together(const json_t *a, const json_t *b)
{
	return are_of_one_kind(a, b) &&
	       strcmp(clv_json_text(a, "parent"), clv_json_text(b, "parent")) == 0;
}

static bool is_wanted(const json_t *device, const char *profile)
{
	return is_open(device) && !clv_json_flag(device, "divided") &&
	       (!profile || strcmp(profile_of(device), profile) == 0);
}

static int fill_node(struct clv_live_fleet *live, const json_t *const *devices, uint8_t n)
{
	int kind = find_kind(live, devices[0]), r;
	struct clv_fleet_node_spec spec = {
		.device_mib = mib_of(devices[0], "memory_bytes"), .n_devices = n};
	uint32_t node = live->fleet->n_nodes, first = live->fleet->n_devices;

	if (kind < 0)
		return kind;
	spec.model = live->kinds[kind].model;
	r = clv_fleet_add_node(live->fleet, &spec, NULL);
	for (uint8_t i = 0; r == 0 && i < n; i++) {
		struct clv_place_at at = {.devices = UINT64_C(1) << i, .node = node};

		live->names[first + i] = clv_json_text(devices[i], "name");
		r = take_promised(
			live, devices[i], &at, &live->fleet->devices[first + i]);
	}
	return r;
}

static int read_shares(struct clv_live_fleet *live, const char *profile)
{
	size_t n_all = json_array_size(live->devices), i, k;
	_cleanup_free_ bool *is_put = calloc(n_all + 1, sizeof(*is_put));
	const json_t *first, *other;
	int r = is_put ? 0 : -ENOMEM;

	json_array_foreach (live->devices, i, first) {
		const json_t *together[CLV_PLACE_DEVICES_MAX];
		uint8_t n = 0;

		if (r < 0 || is_put[i] || !is_wanted(first, profile))
			continue;
		json_array_foreach (live->devices, k, other) {
			if (k < i || is_put[k] || n == CLV_PLACE_DEVICES_MAX ||
				!is_wanted(other, profile) || !are_together(first, other))
				continue;
			is_put[k] = true;
			together[n++] = other;
		}
		r = fill_node(live, together, n);
	}
	return r;
}

/* MIG instances. */

/* Returns the number of the device's scheme, from 1, and adds a new scheme; 0 if MIG is
 * off or the model is unknown, or -errno. */
static int scheme_of(struct clv_live_fleet *live, const json_t *device)
{
	const json_t *mig = json_object_get(device, "mig");
	struct clv_fleet_scheme scheme = {
		.model = clv_mig_model_find(
			clv_json_text(json_object_get(mig, "model"), "name"))};
	int added;

	if (!scheme.model || !clv_json_flag(mig, "on"))
		return 0;
	for (uint32_t i = 0; i < live->fleet->n_schemes; i++) {
		if (live->fleet->schemes[i].model == scheme.model)
			return (int)i + 1;
	}
	added = clv_fleet_add_scheme(live->fleet, &scheme);
	return added < 0 ? added : added + 1;
}

/* The item of an instance.  It is movable if it is unused, or if its only holder is a
 * visible lease that may move. */
static struct clv_live_item holder_of(
	const struct clv_live_fleet *live, const json_t *partition)
{
	const json_t *holders = json_object_get(partition, "holders"), *lease;
	struct clv_live_item item = {.partition = partition};
	const char *id = clv_json_text(json_array_get(holders, 0), "lease");
	size_t i;

	item.is_movable = json_array_size(holders) == 0 &&
			  json_array_size(json_object_get(partition, "parts")) == 0;
	json_array_foreach (live->leases, i, lease) {
		if (json_array_size(holders) != 1 ||
			strcmp(clv_json_text(lease, "id"), id) != 0)
			continue;
		item.lease = lease;
		item.is_movable = is_movable(live, lease);
	}
	return item;
}

static int take_instances(
	struct clv_live_fleet *live, const json_t *device, uint8_t scheme)
{
	const struct clv_mig_model *model = live->fleet->schemes[scheme - 1].model;
	struct clv_place_at at = {.devices = 1, .node = live->fleet->n_nodes - 1};
	const json_t *partition;
	size_t i;

	json_array_foreach (json_object_get(device, "partitions"), i, partition) {
		int profile = clv_mig_profile_find(
			model, clv_json_text(partition, "profile"), NULL);
		struct clv_place_request request = {.n_devices = 1,
			.scheme = scheme,
			.profile = (uint8_t)(profile + 1),
			.class = CLV_CLASS_NORMAL};

		at.start = (uint8_t)clv_json_number(partition, "start");
		if (profile < 0 ||
			take(live, &request, &at, holder_of(live, partition)) < 0)
			return -EINVAL;
	}
	return 0;
}

/* Reads the GPUs with MIG.  A GPU with an instance of an unknown profile is left out. */
static int read_instances(struct clv_live_fleet *live)
{
	const json_t *device, *seen;
	size_t i, k;

	json_array_foreach (json_object_get(live->node, "devices"), i, device) {
		struct clv_fleet_node_spec spec = {.model = "mig", .n_devices = 1};
		int scheme = scheme_of(live, device), r;
		bool takes_part = scheme > 0;

		json_array_foreach (live->devices, k, seen) {
			if (strcmp(clv_json_text(seen, "name"),
				    clv_json_text(device, "name")) == 0)
				takes_part &= is_open(seen);
		}
		if (!takes_part)
			continue;
		spec.scheme = (uint8_t)scheme;
		live->names[live->fleet->n_devices] = clv_json_text(device, "name");
		r = clv_fleet_add_node(live->fleet, &spec, NULL);
		if (r == 0)
			r = take_instances(live, device, spec.scheme);
		if (r == -EINVAL)
			r = clv_fleet_lose_node(
				live->fleet, live->fleet->n_nodes - 1, NULL, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

int clv_live_read(struct clv_live_fleet *live, const char *profile, bool makes_instances)
{
	size_t n_devices = json_array_size(live->devices);

	live->room =
		json_array_size(live->leases) + n_devices * (CLV_MIG_INSTANCES_MAX + 1);
	live->fleet = clv_fleet_new();
	live->items = calloc(live->room + 1, sizeof(*live->items));
	live->names = calloc(n_devices + 1, sizeof(*live->names));
	if (!live->fleet || !live->items || !live->names)
		return -ENOMEM;
	return makes_instances ? read_instances(live) : read_shares(live, profile);
}

void clv_live_done(struct clv_live_fleet *live)
{
	clv_fleet_free(live->fleet);
	free(live->items);
	free(live->names);
	*live = (struct clv_live_fleet){0};
}
