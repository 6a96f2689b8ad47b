/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/plan-file.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "base/yaml.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define NODES_MAX 1000000
#define PPM_PER_MILLI 1000

CLV_DEFINE_CLEANUP(struct clv_yaml *, clv_yaml_free)

/* --- scalars --- */

static int read_version(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t version;

	(void)into;
	return clv_yaml_read_number(value, 1, 1, &version, err);
}

static int read_u64(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_number(value, 1, NODES_MAX, into, err);
}

static int read_small(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t number;
	int r = clv_yaml_read_number(value, 0, CLV_PLACE_DEVICES_MAX, &number, err);

	if (r >= 0)
		*(uint8_t *)into = (uint8_t)number;
	return r;
}

static int read_cpus(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t number;
	int r = clv_yaml_read_number(value, 0, 1000000, &number, err);

	if (r >= 0)
		*(uint32_t *)into = (uint32_t)number * 1000;
	return r;
}

static int read_mib(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t bytes;

	if (clv_units_parse_bytes(clv_yaml_text(value), &bytes, err) < 0)
		return clv_yaml_at_fault(value, err);
	if (bytes / MIB > INT32_MAX)
		return clv_yaml_fail(value, err, -ERANGE, "that is too much memory");
	*(uint32_t *)into = (uint32_t)((bytes + MIB - 1) / MIB);
	return 0;
}

static int read_share(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint32_t ppm;

	if (clv_units_parse_fraction(clv_yaml_text(value), &ppm, err) < 0)
		return clv_yaml_at_fault(value, err);
	*(uint16_t *)into = (uint16_t)((ppm + PPM_PER_MILLI - 1) / PPM_PER_MILLI);
	return 0;
}

static int read_ns(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	if (clv_units_parse_duration(clv_yaml_text(value), into, err) < 0)
		return clv_yaml_at_fault(value, err);
	return 0;
}

static int read_name(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(value, into, 64, err);
}

/* --- a fleet --- */

struct node_entry {
	char model[64];
	uint64_t count;
	uint32_t cpu_milli, memory_mib, device_mib;
	uint8_t n_devices, n_numa;
	bool is_mig;
};

static int read_mig(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_bool(value, into, err);
}

#define AT(member) offsetof(struct node_entry, member)
/* clang-format off */
static const struct clv_yaml_field node_fields[] = {
	{"model",         read_name,  true,  AT(model)},
	{"count",         read_u64,   false, AT(count)},
	{"cpus",          read_cpus,  true,  AT(cpu_milli)},
	{"memory",        read_mib,   true,  AT(memory_mib)},
	{"devices",       read_small, true,  AT(n_devices)},
	{"device_memory", read_mib,   false, AT(device_mib)},
	{"numa",          read_small, false, AT(n_numa)},
	{"mig",           read_mig,   false, AT(is_mig)},
};
/* clang-format on */
#undef AT

/* The scheme of a model that is divided by MIG, added where it is new. */
static int scheme_of(struct clv_fleet *fleet, const char *model)
{
	struct clv_fleet_scheme scheme = {.model = clv_mig_model_find(model)};
	int added;

	if (!scheme.model)
		return -ENOENT;
	for (uint32_t i = 0; i < fleet->n_schemes; i++) {
		if (fleet->schemes[i].model == scheme.model)
			return (int)i + 1;
	}
	added = clv_fleet_add_scheme(fleet, &scheme);
	return added < 0 ? added : added + 1;
}

static int read_node(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct node_entry entry = {.count = 1};
	struct clv_fleet *fleet = into;
	struct clv_fleet_node_spec spec;
	int r = clv_yaml_read_map(
		value, node_fields, CLV_ARRAY_SIZE(node_fields), &entry, err);
	int scheme = 0;

	if (r < 0)
		return r;
	if (entry.is_mig)
		scheme = scheme_of(fleet, entry.model);
	if (scheme < 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no model whose MIG profiles are known", entry.model);
	spec = (struct clv_fleet_node_spec){
		.model = entry.model,
		.cpu_milli = entry.cpu_milli,
		.memory_mib = entry.memory_mib,
		.device_mib = entry.device_mib,
		.n_devices = entry.n_devices,
		.n_numa = entry.n_numa,
		.scheme = (uint8_t)scheme,
	};
	for (uint64_t i = 0; r == 0 && i < entry.count; i++)
		r = clv_fleet_add_node(fleet, &spec, err);
	return r < 0 ? clv_yaml_at_fault(value, err) : 0;
}

static int read_nodes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_node, *(struct clv_fleet **)into, err);
}

struct fleet_document {
	struct clv_fleet *fleet;
};

static const struct clv_yaml_field fleet_fields[] = {
	{"version", read_version, true, 0},
	{"nodes", read_nodes, true, offsetof(struct fleet_document, fleet)},
};

int clv_plan_read_fleet(const char *path, struct clv_fleet *fleet, struct clv_error *err)
{
	CLV_CLEANUP(clv_yaml_freep) struct clv_yaml *yaml = NULL;
	struct fleet_document document = {.fleet = fleet};
	int r = clv_yaml_parse_file(path, &yaml, err);

	if (r == 0)
		r = clv_yaml_read_map(clv_yaml_root(yaml), fleet_fields,
			CLV_ARRAY_SIZE(fleet_fields), &document, err);
	if (r == 0 && fleet->n_nodes == 0)
		return clv_yaml_fail(
			clv_yaml_root(yaml), err, -EINVAL, "the fleet has no nodes");
	return r;
}

/* --- a trace --- */

struct entry_text {
	struct clv_plan_entry entry;
	char profile[64], class[64];
	struct clv_yaml_value models;
	bool has_models;
};

static int read_models(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct entry_text *text = into;

	(void)err;
	text->models = value;
	text->has_models = true;
	return 0;
}

#define AT(member) offsetof(struct entry_text, member)
/* clang-format off */
static const struct clv_yaml_field entry_fields[] = {
	{"name",          read_name,   false, AT(entry.name)},
	{"count",         read_u64,    false, AT(entry.count)},
	{"weight",        read_u64,    false, AT(entry.count)},
	{"cpus",          read_cpus,   false, AT(entry.request.cpu_milli)},
	{"memory",        read_mib,    false, AT(entry.request.memory_mib)},
	{"devices",       read_small,  false, AT(entry.request.n_devices)},
	{"device_memory", read_mib,    false, AT(entry.request.device_mib)},
	{"share",         read_share,  false, AT(entry.request.milli)},
	{"profile",       read_name,   false, AT(profile)},
	{"class",         read_name,   false, AT(class)},
	{"models",        read_models, false, 0},
	{"at",            read_ns,     false, AT(entry.at_ns)},
	{"for",           read_ns,     false, AT(entry.for_ns)},
};
/* clang-format on */
#undef AT

struct trace_reader {
	const struct clv_fleet *fleet;
	struct clv_plan_trace *trace;
	bool has_mix, has_list;
};

static int read_model(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct trace_reader *reader = into;
	struct clv_plan_entry *entry =
		&reader->trace->entries[reader->trace->n_entries - 1];
	int model = clv_fleet_find_model(reader->fleet, clv_yaml_text(value));

	(void)err;
	if (model >= 0)
		entry->request.models |= UINT64_C(1) << model;
	return 0;
}

static int find_profile(const struct clv_fleet *fleet, struct clv_yaml_value value,
	const char *name, struct clv_place_request *request, struct clv_error *err)
{
	for (uint32_t i = 0; i < fleet->n_schemes; i++) {
		int found = clv_mig_profile_find(fleet->schemes[i].model, name, NULL);

		if (found < 0)
			continue;
		request->scheme = (uint8_t)(i + 1);
		request->profile = (uint8_t)(found + 1);
		return 0;
	}
	return clv_yaml_fail(value, err, -EINVAL,
		"no node of the fleet is divided into '%.40s'", name);
}

/* What was not said: one device where anything of one is asked for, and of several, or of
 * one of which no memory is said, the whole. */
static void fill_in(struct clv_place_request *request)
{
	if (request->n_devices == 0 &&
		(request->milli || request->device_mib || request->profile))
		request->n_devices = 1;
	if (request->n_devices > 0 && request->milli == 0 && !request->profile &&
		request->device_mib == 0)
		request->milli = CLV_PLACE_WHOLE;
	if (request->profile)
		request->milli = 0;
}

static int finish_entry(struct trace_reader *reader, struct clv_yaml_value value,
	const struct entry_text *text, struct clv_plan_entry *entry,
	struct clv_error *err)
{
	int r = 0;

	entry->request.class = CLV_CLASS_NORMAL;
	if (text->class[0]) {
		entry->request.class = clv_class_from_string(text->class);
		if (entry->request.class < 0)
			return clv_yaml_fail(value, err, -EINVAL,
				"'%.40s' is no class: latency, normal or batch",
				text->class);
	}
	if (text->profile[0])
		r = find_profile(
			reader->fleet, value, text->profile, &entry->request, err);
	if (r < 0)
		return r;
	fill_in(&entry->request);
	r = clv_fleet_check(reader->fleet, &entry->request, err);
	if (r < 0)
		return clv_yaml_at_fault(value, err);
	if (!text->has_models)
		return 0;
	r = clv_yaml_read_list(text->models, read_model, reader, err);
	entry->is_of_no_model = entry->request.models == CLV_PLACE_ANY_MODEL;
	return r;
}

static int read_entry(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct entry_text text = {.entry = {.count = 1}};
	struct trace_reader *reader = into;
	struct clv_plan_trace *trace = reader->trace;
	struct clv_plan_entry *entry;
	int r = clv_yaml_read_map(
		value, entry_fields, CLV_ARRAY_SIZE(entry_fields), &text, err);

	if (r < 0)
		return r;
	entry = CLV_APPEND(trace->entries, trace->n_entries);
	if (!entry)
		return clv_yaml_fail(value, err, -ENOMEM, "out of memory");
	*entry = text.entry;
	return finish_entry(reader, value, &text, entry, err);
}

static int read_list(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct trace_reader *reader = into;

	reader->has_list = true;
	return clv_yaml_read_list(value, read_entry, reader, err);
}

static int read_mix(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct trace_reader *reader = into;

	reader->has_mix = true;
	return clv_yaml_read_list(value, read_entry, reader, err);
}

static int read_rate(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct trace_reader *reader = into;
	uint64_t rate;
	int r = clv_yaml_read_number(value, 1, 1000000000, &rate, err);

	if (r >= 0)
		reader->trace->per_hour = (double)rate;
	return r;
}

static int read_until(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_ns(value, &((struct trace_reader *)into)->trace->until_ns, err);
}

static int read_mean(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_ns(value, &((struct trace_reader *)into)->trace->mean_life_ns, err);
}

static int read_life(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[_CLV_PLAN_LIFE_MAX] = {
		"fixed", "uniform", "exponential"};
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (r >= 0)
		((struct trace_reader *)into)->trace->life = (enum clv_plan_life)r;
	return r < 0 ? r : 0;
}

/* clang-format off */
static const struct clv_yaml_field trace_fields[] = {
	{"version",   read_version, true,  0},
	{"requests",  read_list,    false, 0},
	{"mix",       read_mix,     false, 0},
	{"per_hour",  read_rate,    false, 0},
	{"until",     read_until,   false, 0},
	{"mean_life", read_mean,    false, 0},
	{"life",      read_life,    false, 0},
};
/* clang-format on */

static int compare_entries(const void *a, const void *b)
{
	const struct clv_plan_entry *one = a, *other = b;

	if (one->at_ns != other->at_ns)
		return one->at_ns < other->at_ns ? -1 : 1;
	return one < other ? -1 : one > other;
}

static int check_trace(const struct trace_reader *reader, struct clv_yaml_value root,
	struct clv_error *err)
{
	struct clv_plan_trace *trace = reader->trace;

	if (reader->has_list == reader->has_mix)
		return clv_yaml_fail(root, err, -EINVAL,
			"a trace has either requests or a mix of them");
	if (trace->n_entries == 0)
		return clv_yaml_fail(root, err, -EINVAL, "the trace has no requests");
	if (reader->has_mix && (trace->per_hour <= 0 || trace->until_ns == 0))
		return clv_yaml_fail(
			root, err, -EINVAL, "a mix needs per_hour and until beside it");
	if (reader->has_list)
		trace->per_hour = 0;
	return 0;
}

int clv_plan_read_trace(const char *path, const struct clv_fleet *fleet,
	struct clv_plan_trace *ret, struct clv_error *err)
{
	CLV_CLEANUP(clv_yaml_freep) struct clv_yaml *yaml = NULL;
	struct clv_plan_trace trace = {.life = CLV_PLAN_EXPONENTIAL};
	struct trace_reader reader = {.fleet = fleet, .trace = &trace};
	int r = clv_yaml_parse_file(path, &yaml, err);

	if (r == 0)
		r = clv_yaml_read_map(clv_yaml_root(yaml), trace_fields,
			CLV_ARRAY_SIZE(trace_fields), &reader, err);
	if (r == 0)
		r = check_trace(&reader, clv_yaml_root(yaml), err);
	if (r < 0) {
		free(trace.entries);
		return r;
	}
	if (reader.has_list)
		qsort(trace.entries, trace.n_entries, sizeof(*trace.entries),
			compare_entries);
	*ret = trace;
	return 0;
}
