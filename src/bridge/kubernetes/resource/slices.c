/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU with MIG has a set of counters: one for each memory slice, which only one
 * instance can consume, and one for all compute slices.  Each possible placement of an
 * instance is a device that consumes its counters.  So the scheduler knows what the
 * hardware allows, and instances are created only when they are claimed.  Where claims
 * may change AMD's modes, slices-modes.c does the same for them; else, and where the API
 * server drops counters, the existing partitions are published. */
#include "bridge/kubernetes/resource/slices.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/kubernetes/resource/attributes.h"
#include "bridge/kubernetes/resource/resource.h"
#include "bridge/kubernetes/resource/slices-internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define COMPUTE "compute-slices"

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static json_int_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* Makes a DNS label. */
static void make_label(char *name)
{
	for (char *p = name; *p != '\0'; p++)
		*p = isalnum((unsigned char)*p) ? (char)tolower((unsigned char)*p) : '-';
}

struct clv_kube_place *clv_kube_slice_place(struct clv_kube_maker *maker,
	const char *device, const char *profile, uint32_t start)
{
	struct clv_kube_place *place = CLV_APPEND(maker->places.items, maker->places.n);

	if (!place)
		return NULL;
	snprintf(place->device, sizeof(place->device), "%s", device);
	snprintf(place->profile, sizeof(place->profile), "%s", profile);
	place->start = start;
	if (profile[0] == '\0')
		snprintf(place->name, sizeof(place->name), "%s", device);
	else
		snprintf(place->name, sizeof(place->name), "%s-%s-%" PRIu32, device,
			profile, start);
	make_label(place->name);
	return place;
}

/* --- Attributes and capacity --- */

json_t *clv_kube_slice_value(uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return json_pack("{s:s}", "value", text);
}

static json_t *make_attributes(
	const json_t *device, const char *type, const char *profile, const char *uuid)
{
	json_t *attributes = json_object();

	clv_kube_attribute_add(attributes, "type", type);
	clv_kube_attribute_add(
		attributes, "parent", profile[0] != '\0' ? text_of(device, "name") : "");
	clv_kube_attribute_add(attributes, "profile", profile);
	clv_kube_attribute_add(attributes, "uuid", uuid);
	clv_kube_attributes_add_device(attributes, device);
	return attributes;
}

/* A lost device is empty anyway; on others running pods go on. */
static json_t *make_taints(const struct clv_kube_device *device)
{
	bool is_lost = strcmp(device->state, "lost") == 0;

	return json_pack("[{s:s,s:s,s:s}]", "key", CLV_KUBE_TAINT, "value", device->state,
		"effect", is_lost ? "NoExecute" : "NoSchedule");
}

json_t *clv_kube_slice_device(const struct clv_kube_maker *maker,
	const struct clv_kube_place *place, const json_t *device, const char *type,
	const char *uuid)
{
	const struct clv_kube_device *known =
		clv_kube_inventory_find(maker->inventory, text_of(device, "name"));
	json_t *one = json_pack("{s:s,s:o,s:{s:o}}", "name", place->name, "attributes",
		make_attributes(device, type, place->profile, uuid), "capacity", "memory",
		clv_kube_slice_value(place->memory_bytes));

	if (known && !known->is_healthy)
		json_object_set_new(one, "taints", make_taints(known));
	return one;
}

/* --- Counters --- */

static void end_sets(struct clv_kube_maker *maker)
{
	if (maker->sets && json_array_size(maker->sets) > 0)
		json_array_append_new(
			maker->specs, json_pack("{s:o}", "sharedCounters", maker->sets));
	else
		json_decref(maker->sets);
	maker->sets = NULL;
}

static void add_set(struct clv_kube_maker *maker, json_t *set)
{
	if (maker->sets && json_array_size(maker->sets) == CLV_KUBE_SLICE_SETS_MAX)
		end_sets(maker);
	if (!maker->sets)
		maker->sets = json_array();
	json_array_append_new(maker->sets, set);
}

static void name_set(const json_t *device, char ret[CLV_KUBE_DRA_NAME_MAX])
{
	snprintf(ret, CLV_KUBE_DRA_NAME_MAX, "%s", text_of(device, "name"));
	make_label(ret);
}

void clv_kube_slice_consume(json_t *one, const json_t *device, json_t *counters)
{
	char set[CLV_KUBE_DRA_NAME_MAX];

	name_set(device, set);
	json_object_set_new(one, "consumesCounters",
		json_pack("[{s:s,s:o}]", "counterSet", set, "counters", counters));
}

void clv_kube_slice_end(struct clv_kube_maker *maker, const json_t *device,
	json_t *devices, json_t *counters)
{
	json_t *spec = json_pack("{s:o}", "devices", devices), *set;
	char name[CLV_KUBE_DRA_NAME_MAX];

	name_set(device, name);
	set = json_pack("{s:s,s:o}", "name", name, "counters", counters);
	if (maker->server.counters == CLV_KUBE_COUNTERS_APART)
		add_set(maker, set);
	else
		json_object_set_new(spec, "sharedCounters", json_pack("[o]", set));
	json_array_append_new(maker->specs, spec);
}

/* --- MIG --- */

static void count(json_t *counters, const char *name, uint64_t number)
{
	json_object_set_new(counters, name, clv_kube_slice_value(number));
}

static void count_slice(json_t *counters, uint32_t slice)
{
	char name[32];

	snprintf(name, sizeof(name), "memory-slice-%" PRIu32, slice);
	count(counters, name, 1);
}

/* True for a profile with engines of which the GPU has fewer than the profile has
 * placements: only one "1g.10gb+me" is possible at a time. */
static bool is_limited(const json_t *profile)
{
	return (size_t)number_of(profile, "max_instances") <
		       json_array_size(json_object_get(profile, "starts")) &&
	       strchr(text_of(profile, "name"), '+');
}

static void count_limit(json_t *counters, const json_t *profile, uint64_t number)
{
	char name[CLV_KUBE_DRA_NAME_MAX];

	snprintf(name, sizeof(name), "most-%.40s", text_of(profile, "name"));
	make_label(name);
	if (is_limited(profile))
		count(counters, name, number);
}

static json_t *make_counters(const json_t *model)
{
	const json_t *profiles = json_object_get(model, "profiles"), *profile;
	json_t *counters = json_object();
	size_t i;

	for (uint32_t slice = 0; slice < number_of(model, "grid"); slice++)
		count_slice(counters, slice);
	count(counters, COMPUTE, (uint64_t)number_of(model, "slices"));
	json_array_foreach (profiles, i, profile)
		count_limit(
			counters, profile, (uint64_t)number_of(profile, "max_instances"));
	return counters;
}

static int add_instance(struct clv_kube_maker *maker, const json_t *device,
	const json_t *profile, uint32_t start, json_t *devices)
{
	json_t *counters = json_object(), *one;
	struct clv_kube_place *place = clv_kube_slice_place(
		maker, text_of(device, "name"), text_of(profile, "name"), start);

	if (!place || !counters)
		return -ENOMEM;
	place->is_made = true;
	place->memory_bytes = (uint64_t)number_of(profile, "memory_mib") << 20;
	for (uint32_t i = 0; i < number_of(profile, "size"); i++)
		count_slice(counters, start + i);
	count(counters, COMPUTE, (uint64_t)number_of(profile, "slices"));
	count_limit(counters, profile, 1);
	one = clv_kube_slice_device(maker, place, device, "mig", "");
	clv_kube_slice_consume(one, device, counters);
	json_array_append_new(devices, one);
	return 0;
}

static int add_mig(struct clv_kube_maker *maker, const json_t *device)
{
	const json_t *model = json_object_get(json_object_get(device, "mig"), "model");
	const json_t *profiles = json_object_get(model, "profiles"), *profile, *start;
	json_t *devices = json_array();
	size_t i, j;
	int r = 0;

	json_array_foreach (profiles, i, profile) {
		json_array_foreach (json_object_get(profile, "starts"), j, start) {
			if (r >= 0 &&
				json_array_size(devices) < CLV_KUBE_SLICE_DEVICES_MAX)
				r = add_instance(maker, device, profile,
					(uint32_t)json_integer_value(start), devices);
		}
	}
	clv_kube_slice_end(maker, device, devices, make_counters(model));
	return r;
}

/* --- Devices without counters --- */

static void end_plain(struct clv_kube_maker *maker)
{
	if (json_array_size(maker->plain) > 0)
		json_array_append_new(
			maker->specs, json_pack("{s:O}", "devices", maker->plain));
	json_decref(maker->plain);
	maker->plain = json_array();
}

static void add_plain(struct clv_kube_maker *maker, json_t *device)
{
	if (json_array_size(maker->plain) == CLV_KUBE_SLICE_DEVICES_MAX)
		end_plain(maker);
	json_array_append_new(maker->plain, device);
}

static int add_partitions(struct clv_kube_maker *maker, const json_t *device)
{
	const json_t *partitions = json_object_get(device, "partitions"), *partition;
	const char *scheme = text_of(device, "scheme");
	size_t i;

	json_array_foreach (partitions, i, partition) {
		const char *profile = text_of(partition, "profile");
		struct clv_kube_place *place =
			clv_kube_slice_place(maker, text_of(device, "name"), profile,
				(uint32_t)number_of(partition, "start"));
		json_t *one;

		if (!place)
			return -ENOMEM;
		place->memory_bytes = (uint64_t)number_of(partition, "memory_bytes");
		place->is_joinable = strcmp(scheme, "xcp") == 0;
		one = clv_kube_slice_device(
			maker, place, device, scheme, text_of(partition, "uuid"));
		if (strcmp(scheme, "vf") == 0) /* it has an address of its own */
			clv_kube_attribute_add(json_object_get(one, "attributes"),
				"resource.kubernetes.io/pciBusID",
				text_of(partition, "address"));
		add_plain(maker, one);
	}
	return 0;
}

/* A capacity of which each claim consumes what it requests, in whole units, or without a
 * request all of it, like a capacity without a policy. */
static json_t *make_divided(uint64_t all)
{
	char most[32];

	snprintf(most, sizeof(most), "%" PRIu64, all);
	return json_pack("{s:s,s:{s:s,s:{s:s,s:s,s:s}}}", "value", most, "requestPolicy",
		"default", most, "validRange", "min", "1", "max", most, "step", "1");
}

/* A capacity that claims can read and not request, since it follows from another one. */
static json_t *make_derived(uint64_t all)
{
	char most[32];

	snprintf(most, sizeof(most), "%" PRIu64, all);
	return json_pack("{s:s,s:{s:s,s:[s]}}", "value", most, "requestPolicy", "default",
		"0", "validValues", "0");
}

/* Makes the device shareable.  A policy's default is a constant, so the scheduler cannot
 * count "the share's part of the memory".  What a claim gets without requesting it is
 * either in proportion, and then no claim can request it, or all of it. */
static void share(json_t *one, enum clv_kube_undivided undivided, uint64_t memory_bytes)
{
	bool has_share = undivided != CLV_KUBE_MEMORY;
	bool has_memory = undivided == CLV_KUBE_MEMORY || undivided == CLV_KUBE_BOTH;

	json_object_set_new(one, "allowMultipleAllocations", json_true());
	json_object_set_new(one, "capacity",
		json_pack("{s:o,s:o}", "share",
			has_share ? make_divided(CLV_KUBE_HUNDREDTHS)
				  : make_derived(CLV_KUBE_HUNDREDTHS),
			"memory",
			has_memory ? make_divided(memory_bytes)
				   : make_derived(memory_bytes)));
}

static int add_whole(struct clv_kube_maker *maker, const json_t *device)
{
	enum clv_kube_undivided undivided = maker->settings->undivided;
	struct clv_kube_place *place;
	json_t *one;

	if (undivided == CLV_KUBE_NOTHING)
		return 0;
	place = clv_kube_slice_place(maker, text_of(device, "name"), "", 0);
	if (!place)
		return -ENOMEM;
	place->memory_bytes = (uint64_t)number_of(device, "memory_bytes");
	place->is_shared = undivided != CLV_KUBE_WHOLE;
	place->is_joinable = true;
	one = clv_kube_slice_device(maker, place, device, "gpu", text_of(device, "uuid"));
	if (place->is_shared)
		share(one, undivided, place->memory_bytes);
	add_plain(maker, one);
	return 0;
}

/* --- The node --- */

/* Without taints an unhealthy device is left out, so that no new claim gets it. */
static bool is_published(const struct clv_kube_maker *maker, const char *name)
{
	const struct clv_kube_device *device =
		clv_kube_inventory_find(maker->inventory, name);

	return device && (device->is_healthy || maker->server.has_taints);
}

static int add_device(struct clv_kube_maker *maker, const json_t *device)
{
	const json_t *mig = json_object_get(device, "mig");
	bool has_counters = maker->server.counters != CLV_KUBE_COUNTERS_NONE;

	if (!is_published(maker, text_of(device, "name")))
		return 0;
	if (json_is_true(json_object_get(mig, "on")) &&
		json_is_object(json_object_get(mig, "model")))
		return has_counters ? add_mig(maker, device)
				    : add_partitions(maker, device);
	if (has_counters && maker->settings->has_modes &&
		clv_kube_slices_has_modes(device))
		return clv_kube_slices_add_modes(maker, device);
	if (json_array_size(json_object_get(device, "partitions")) > 0)
		return add_partitions(maker, device);
	return add_whole(maker, device);
}

int clv_kube_slices_make(const struct json_t *node,
	const struct clv_kube_inventory *inventory,
	const struct clv_kube_settings *settings, struct clv_kube_server server,
	struct clv_kube_places *ret_places, struct json_t **ret_specs,
	struct clv_error *err)
{
	struct clv_kube_maker maker = {
		inventory, settings, server, {}, json_array(), NULL, json_array()};
	const json_t *devices = json_object_get(node, "devices"), *device;
	size_t i;
	int r = 0;

	json_array_foreach (devices, i, device) {
		if (r >= 0)
			r = add_device(&maker, device);
	}
	end_sets(&maker);
	end_plain(&maker);
	json_decref(maker.plain);
	if (r < 0) {
		json_decref(maker.specs);
		clv_kube_places_clear(&maker.places);
		return clv_error_errno(err, -r, "cannot describe the node");
	}
	*ret_places = maker.places;
	*ret_specs = maker.specs;
	return 0;
}

void clv_kube_places_clear(struct clv_kube_places *places)
{
	free(places->items);
	*places = (struct clv_kube_places){};
}

const struct clv_kube_place *clv_kube_places_find(
	const struct clv_kube_places *places, const char *name)
{
	for (size_t i = 0; i < places->n; i++) {
		if (strcmp(places->items[i].name, name) == 0)
			return &places->items[i];
	}
	return NULL;
}
