/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots as nodes, leases and traces, whatever their format. */
#include "simulate/files/snapshot.h"

#include "simulate/files/nodes.h"
#include "simulate/files/plan-file.h"
#include "simulate/files/rows.h"
#include "simulate/files/snapshot-internal.h"

#include "base/array.h"
#include "base/duration.h"
#include "base/error.h"
#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In nanoseconds they are below 2^63. */
#define SECONDS_MAX UINT64_C(9000000000)

struct clv_snapshot {
	json_t *root;
	json_t *numbers; /* of the nodes in the fleet, by name; NULL: not yet added */
	char *name;      /* of the file, for messages */
	const struct clv_snapshot_format *format;
};

uint64_t clv_snapshot_count(double number)
{
	if (!(number > 0))
		return 0;
	return number < (double)CLV_SNAPSHOT_MOST ? (uint64_t)number : CLV_SNAPSHOT_MOST;
}

const char *clv_snapshot_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Whether the first character of a file is that of a JSON object. */
static bool is_object(FILE *file)
{
	int c = getc(file);

	if (c == 0xef && getc(file) == 0xbb && getc(file) == 0xbf)
		c = getc(file);
	while (c == ' ' || c == '\t' || c == '\r' || c == '\n')
		c = getc(file);
	if (c == '{')
		ungetc(c, file);
	return c == '{';
}

/* A fleet or trace in YAML may be written as JSON, too, and has a version. */
static const struct clv_snapshot_format *format_of(const json_t *root)
{
	if (json_object_get(root, "version"))
		return NULL;
	if (json_is_array(json_object_get(root, "items")))
		return &clv_snapshot_kubernetes;
	return json_is_array(json_object_get(root, "nodes")) ||
			       json_is_array(json_object_get(root, "jobs"))
		       ? &clv_snapshot_slurm
		       : NULL;
}

static int new_snapshot(
	const char *path, json_t *root, struct clv_snapshot **ret, struct clv_error *err)
{
	const struct clv_snapshot_format *format = format_of(root);
	struct clv_snapshot *snapshot = format ? calloc(1, sizeof(*snapshot)) : NULL;

	if (!snapshot) {
		json_decref(root);
		return format ? clv_error_errno(err, ENOMEM, "%.200s", path) : 0;
	}
	snapshot->root = root;
	snapshot->format = format;
	snapshot->name = strdup(path);
	if (!snapshot->name) {
		clv_snapshot_close(snapshot);
		return clv_error_errno(err, ENOMEM, "%.200s", path);
	}
	*ret = snapshot;
	return 1;
}

int clv_snapshot_read(
	FILE *file, const char *name, struct clv_snapshot **ret, struct clv_error *err)
{
	json_t *root;
	json_error_t where;

	*ret = NULL;
	if (!is_object(file))
		return 0;
	/* Some versions of Slurm print unset numbers as 2^64 - 1. */
	root = json_loadf(file, JSON_DECODE_INT_AS_REAL, &where);
	if (root)
		return new_snapshot(name, root, ret, err);
	/* A flow map of YAML begins likewise; its reader has better messages. */
	if (where.line <= 1)
		return 0;
	return clv_error_set(err, -EINVAL, "%.200s:%d:%d: %.200s", name, where.line,
		where.column > 0 ? where.column : 1, where.text);
}

int clv_snapshot_open(const char *path, struct clv_snapshot **ret, struct clv_error *err)
{
	FILE *file = strcmp(path, "-") == 0 ? NULL : fopen(path, "re");
	int r;

	*ret = NULL;
	if (!file)
		return 0;
	r = clv_snapshot_read(file, path, ret, err);
	fclose(file);
	return r;
}

struct clv_snapshot *clv_snapshot_close(struct clv_snapshot *snapshot)
{
	if (!snapshot)
		return NULL;
	json_decref(snapshot->root);
	json_decref(snapshot->numbers);
	free(snapshot->name);
	free(snapshot);
	return NULL;
}

static const json_t *array_of(const struct clv_snapshot *snapshot, const char *key)
{
	return json_object_get(snapshot->root, key);
}

static uint32_t bounded(uint64_t number)
{
	return number < INT32_MAX ? (uint32_t)number : INT32_MAX;
}

static void leave_out(struct clv_snapshot_odd *odd, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void leave_out(struct clv_snapshot_odd *odd, const char *format, ...)
{
	va_list args;

	if (odd->n++ > 0)
		return;
	va_start(args, format);
	vsnprintf(odd->first, sizeof(odd->first), format, args);
	va_end(args);
}

/* Returns 1; 0 if a fleet cannot have the node; or -ENOMEM. */
static int add_node(const struct clv_snapshot_node *node, struct clv_fleet *fleet,
	struct clv_node_notes *notes, struct clv_snapshot_odd *odd)
{
	char model[32];
	struct clv_error why = {0};
	struct clv_fleet_node_spec spec = {
		.model = model,
		.cpu_milli = bounded(node->cpu_milli),
		.memory_mib = bounded(node->memory_mib),
		.n_devices = (uint8_t)node->n_devices,
		.device_mib = bounded(node->device_mib),
	};
	int r;

	if (node->n_devices > CLV_PLACE_DEVICES_MAX) {
		leave_out(odd, "node '%.60s' has more than %d devices", node->name,
			CLV_PLACE_DEVICES_MAX);
		return 0;
	}
	snprintf(model, sizeof(model), "%.31s",
		node->n_devices == 0 ? "none"
		: *node->model       ? node->model
				     : "gpu");
	r = clv_fleet_add_node(fleet, &spec, &why);
	if (r < 0 && r != -ENOMEM) {
		leave_out(odd, "node '%.60s': %.80s", node->name, why.msg);
		return 0;
	}
	if (r == 0 && notes)
		r = clv_node_notes_add(notes, 0, &why);
	return r < 0 ? -ENOMEM : 1;
}

/* Adds a node and notes its number; -ENOMEM. */
static int add_numbered(struct clv_snapshot *snapshot,
	const struct clv_snapshot_node *node, struct clv_fleet *fleet,
	struct clv_node_notes *notes, struct clv_snapshot_odd *odd)
{
	int r = add_node(node, fleet, notes, odd);

	if (r <= 0)
		return r;
	return json_object_set_new(snapshot->numbers, node->name,
		       json_integer(fleet->n_nodes - 1)) < 0
		       ? -ENOMEM
		       : 0;
}

int clv_snapshot_add_nodes(struct clv_snapshot *snapshot, struct clv_fleet *fleet,
	struct clv_node_notes *notes, struct clv_snapshot_odd *odd, struct clv_error *err)
{
	const struct clv_snapshot_format *format = snapshot->format;
	const json_t *item;
	size_t i;
	int r;

	json_decref(snapshot->numbers);
	snapshot->numbers = json_object();
	r = snapshot->numbers ? 0 : -ENOMEM;
	json_array_foreach (array_of(snapshot, format->nodes), i, item) {
		struct clv_snapshot_node node;

		if (r == 0 && format->read_node(item, &node))
			r = add_numbered(snapshot, &node, fleet, notes, odd);
	}
	if (r < 0)
		return clv_error_errno(err, -r, "%.200s", snapshot->name);
	if (fleet->n_nodes == 0)
		return clv_error_set(err, -EINVAL,
			"%.200s: it has no node that accepts work%s%s", snapshot->name,
			odd->n ? ": " : "", odd->n ? odd->first : "");
	return 0;
}

/* The first n devices of a bitmap. */
static uint64_t first_of(uint64_t devices, unsigned n)
{
	uint64_t chosen = 0;

	for (; n > 0 && devices; n--, devices &= devices - 1)
		chosen |= devices & -devices;
	return chosen;
}

static unsigned count(uint64_t devices)
{
	return (unsigned)__builtin_popcountll(devices);
}

/* Takes what fits of a load: the API may list more than a node has, if a device failed.
 */
static int take(
	struct clv_fleet *fleet, uint32_t number, const struct clv_snapshot_load *load)
{
	const struct clv_fleet_node *node = &fleet->nodes[number];
	struct clv_place_request request = {.milli = (uint16_t)load->milli,
		.n_devices = 1,
		.class = CLV_CLASS_NORMAL};
	struct clv_place_at at = {.node = number};
	uint64_t fitting = clv_fit_devices(fleet, node, &request);
	uint32_t lease;
	int r;

	at.devices = first_of(load->devices ? load->devices & fitting : fitting,
		bounded(load->n_devices));
	request.n_devices = (uint8_t)count(at.devices);
	if (request.n_devices == 0)
		request.milli = 0;
	request.cpu_milli = bounded(load->cpu_milli);
	request.memory_mib = bounded(load->memory_mib);
	if (request.cpu_milli > node->free_cpu_milli)
		request.cpu_milli = node->free_cpu_milli;
	if (request.memory_mib > node->free_memory_mib)
		request.memory_mib = node->free_memory_mib;
	r = clv_fleet_take(fleet, &request, &at, &lease);
	return r == -ENOMEM ? r : 0;
}

int clv_snapshot_take_running(const struct clv_snapshot *snapshot,
	struct clv_fleet *fleet, struct clv_error *err)
{
	const struct clv_snapshot_format *format = snapshot->format;
	const json_t *item;
	size_t i;
	int r = 0;

	json_array_foreach (array_of(snapshot, format->running), i, item) {
		struct clv_snapshot_load load;
		const json_t *number;

		if (r < 0 || !format->read_running(item, &load))
			continue;
		number = json_object_get(snapshot->numbers, load.node);
		if (number && json_integer_value(number) < fleet->n_nodes)
			r = take(fleet, (uint32_t)json_integer_value(number), &load);
	}
	return r < 0 ? clv_error_errno(err, -r, "%.200s", snapshot->name) : 0;
}

static uint64_t ns_of(uint64_t seconds)
{
	return (seconds < SECONDS_MAX ? seconds : SECONDS_MAX) * CLV_NS_PER_S;
}

static int add_entry(const struct clv_fleet *fleet, const struct clv_snapshot_load *load,
	struct clv_plan_trace *trace, struct clv_snapshot_odd *odd)
{
	int model = *load->model ? clv_fleet_find_model(fleet, load->model) : -1;
	struct clv_plan_entry *entry;

	if (load->n_devices > CLV_PLACE_DEVICES_MAX ||
		load->n_nodes > CLV_TRACE_GANG_MAX) {
		leave_out(odd,
			"'%.60s' wants more than %d devices of a node, or more than %d "
			"nodes",
			load->name, CLV_PLACE_DEVICES_MAX, CLV_TRACE_GANG_MAX);
		return 0;
	}
	entry = CLV_APPEND(trace->entries, trace->n_entries);
	if (!entry)
		return -ENOMEM;
	*entry = (struct clv_plan_entry){
		.request = {.cpu_milli = bounded(load->cpu_milli),
			.memory_mib = bounded(load->memory_mib),
			.n_devices = (uint8_t)load->n_devices,
			.milli = load->n_devices ? (uint16_t)load->milli : 0,
			.class = CLV_CLASS_NORMAL,
			.models = model >= 0 ? UINT64_C(1) << model : 0},
		.at_ns = ns_of(load->arrives_s),
		.for_ns = ns_of(load->stays_s),
		.count = 1,
		.n_gang = load->n_nodes > 1 ? load->n_nodes : 0,
		.priority = load->priority < UINT32_MAX ? (uint32_t)load->priority
							: UINT32_MAX,
		.is_of_no_model = *load->model && load->n_devices && model < 0,
		.number = trace->n_entries - 1,
	};
	snprintf(entry->name, sizeof(entry->name), "%.63s", load->name);
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct clv_plan_entry *one = a, *other = b;

	if (one->at_ns != other->at_ns)
		return one->at_ns < other->at_ns ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

int clv_snapshot_read_trace(const struct clv_snapshot *snapshot,
	const struct clv_fleet *fleet, bool is_waiting_only, struct clv_plan_trace *ret,
	struct clv_snapshot_odd *odd, struct clv_error *err)
{
	const struct clv_snapshot_format *format = snapshot->format;
	struct clv_plan_trace trace = {0};
	const json_t *item;
	size_t i;
	int r = 0;

	json_array_foreach (array_of(snapshot, format->loads), i, item) {
		struct clv_snapshot_load load;

		if (r == 0 && format->read_load(item, &load) &&
			(load.is_waiting || !is_waiting_only))
			r = add_entry(fleet, &load, &trace, odd);
	}
	if (r < 0)
		clv_error_errno(err, -r, "%.200s", snapshot->name);
	else if (trace.n_entries == 0)
		r = clv_error_set(err, -EINVAL, "%.200s: no pod or job %s%s%s",
			snapshot->name, is_waiting_only ? "waits" : "is in it",
			odd->n ? ": " : "", odd->n ? odd->first : "");
	if (r < 0) {
		clv_plan_trace_done(&trace);
		return r;
	}
	qsort(trace.entries, trace.n_entries, sizeof(*trace.entries), compare_entries);
	*ret = trace;
	return 0;
}
