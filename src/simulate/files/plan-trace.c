/* SPDX-License-Identifier: Apache-2.0 */
/* Traces in YAML. */
#include "simulate/files/plan-file.h"

#include "simulate/files/names.h"
#include "simulate/files/plan-read.h"
#include "simulate/files/rows.h"

#include "base/array.h"
#include "base/error.h"
#include "core/fleet/fleet.h"

#include <errno.h>
#include <stdlib.h>

struct entry_text {
	struct clv_plan_entry entry;
	char profile[64], class[64], rule[64];
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

/* Adds the number of a device, from 0, to a bitmap. */
static int read_device(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t number, *devices = into;
	int r = clv_yaml_read_number(value, 0, CLV_PLACE_DEVICES_MAX - 1, &number, err);

	if (r >= 0)
		*devices |= UINT64_C(1) << number;
	return r;
}

static int read_devices(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_device, into, err);
}

static int read_gang(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_number(value, 1, CLV_TRACE_GANG_MAX, into, err);
}

#define AT(member) offsetof(struct entry_text, member)
/* clang-format off */
static const struct clv_yaml_field entry_fields[] = {
	{"name",          clv_plan_read_name,   false, AT(entry.name)},
	{"count",         clv_plan_read_u64,    false, AT(entry.count)},
	{"weight",        clv_plan_read_u64,    false, AT(entry.count)},
	{"gang",          read_gang,            false, AT(entry.n_gang)},
	{"rule",          clv_plan_read_name,   false, AT(rule)},
	{"cpus",          clv_plan_read_cpus,   false, AT(entry.request.cpu_milli)},
	{"memory",        clv_plan_read_mib,    false, AT(entry.request.memory_mib)},
	{"devices",       clv_plan_read_small,  false, AT(entry.request.n_devices)},
	{"device_memory", clv_plan_read_mib,    false, AT(entry.request.device_mib)},
	{"share",         clv_plan_read_share,  false, AT(entry.request.milli)},
	{"profile",       clv_plan_read_name,   false, AT(profile)},
	{"class",         clv_plan_read_name,   false, AT(class)},
	{"priority",      clv_plan_read_index,  false, AT(entry.priority)},
	{"numa",          clv_plan_read_flag,   false, AT(entry.request.same_numa)},
	{"nvlink",        clv_plan_read_flag,   false, AT(entry.request.same_link)},
	{"models",        read_models,          false, 0},
	{"at",            clv_plan_read_ns,     false, AT(entry.at_ns)},
	{"for",           clv_plan_read_ns,     false, AT(entry.for_ns)},
};
static const struct clv_yaml_field placed_fields[] = {
	{"name",          clv_plan_read_name,   false, AT(entry.name)},
	{"node",          clv_plan_read_index,  true,  AT(entry.at.node)},
	{"on",            read_devices,         false, AT(entry.at.devices)},
	{"start",         clv_plan_read_small,  false, AT(entry.at.start)},
	{"fixed",         clv_plan_read_flag,   false, AT(entry.is_fixed)},
	{"cpus",          clv_plan_read_cpus,   false, AT(entry.request.cpu_milli)},
	{"memory",        clv_plan_read_mib,    false, AT(entry.request.memory_mib)},
	{"device_memory", clv_plan_read_mib,    false, AT(entry.request.device_mib)},
	{"share",         clv_plan_read_share,  false, AT(entry.request.milli)},
	{"profile",       clv_plan_read_name,   false, AT(profile)},
	{"class",         clv_plan_read_name,   false, AT(class)},
};
/* clang-format on */
#undef AT

struct trace_reader {
	const struct clv_fleet *fleet;
	struct clv_plan_trace *trace;
	struct clv_names names;
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

/* Defaults: one device if a share, memory or profile is requested, and whole devices if
 * neither a share nor memory is. */
static void set_defaults(struct clv_place_request *request)
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

/* The rule of a gang. */
static int find_rule(const struct clv_fleet *fleet, struct clv_yaml_value value,
	const char *name, struct clv_plan_entry *entry, struct clv_error *err)
{
	int rule = clv_row_find_rule(name);

	if (rule < 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no rule of a gang: free, apart, spread or one-rack",
			name);
	if (rule == CLV_PLACE_TOGETHER)
		return clv_yaml_fail(value, err, -EINVAL, CLV_ROW_GANG_TOGETHER);
	if (entry->n_gang == 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"a rule is for the requests of a gang: say how many with 'gang'");
	if (rule == CLV_PLACE_ONE_RACK && fleet->n_racks == 0)
		return clv_yaml_fail(value, err, -EINVAL, CLV_ROW_NO_RACKS);
	entry->request.rule = (enum clv_place_rule)rule;
	return 0;
}

static int finish_entry(struct trace_reader *reader, struct clv_yaml_value value,
	const struct entry_text *text, struct clv_plan_entry *entry,
	struct clv_error *err)
{
	int r = entry->name[0] ? clv_names_add(&reader->names, entry->name) : 1;

	if (r < 0)
		return clv_yaml_fail(value, err, r, "out of memory");
	if (r == 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"the name '%.60s' appears twice", entry->name);
	r = 0;
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
	if (r == 0 && text->rule[0])
		r = find_rule(reader->fleet, value, text->rule, entry, err);
	if (r < 0)
		return r;
	set_defaults(&entry->request);
	r = clv_fleet_check(reader->fleet, &entry->request, err);
	if (r < 0)
		return clv_yaml_prefix_position(value, err);
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
	entry->number = trace->n_entries - 1;
	return finish_entry(reader, value, &text, entry, err);
}

static int read_placed_entry(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct entry_text text = {.entry = {.count = 1}};
	struct trace_reader *reader = into;
	struct clv_plan_trace *trace = reader->trace;
	struct clv_plan_entry *entry;
	int r = clv_yaml_read_map(
		value, placed_fields, CLV_ARRAY_SIZE(placed_fields), &text, err);

	if (r < 0)
		return r;
	entry = CLV_APPEND(trace->placed, trace->n_placed);
	if (!entry)
		return clv_yaml_fail(value, err, -ENOMEM, "out of memory");
	*entry = text.entry;
	entry->number = trace->n_placed - 1;
	entry->request.n_devices = (uint8_t)__builtin_popcountll(entry->at.devices);
	return finish_entry(reader, value, &text, entry, err);
}

static int read_placed(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_placed_entry, into, err);
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
	return clv_plan_read_ns(
		value, &((struct trace_reader *)into)->trace->until_ns, err);
}

static int read_mean(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_plan_read_ns(
		value, &((struct trace_reader *)into)->trace->mean_life_ns, err);
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
	{"version",   clv_plan_read_version, true,  0},
	{"requests",  read_list,    false, 0},
	{"placed",    read_placed,  false, 0},
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
	return one->number < other->number ? -1 : one->number > other->number;
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
			root, err, -EINVAL, "a mix needs per_hour and until");
	if (reader->has_list)
		trace->per_hour = 0;
	return 0;
}

int clv_plan_read_trace(const char *path, const struct clv_fleet *fleet,
	struct clv_plan_trace *ret, struct clv_error *err)
{
	_cleanup_yaml_ struct clv_yaml *yaml = NULL;
	struct clv_plan_trace trace = {.life = CLV_PLAN_EXPONENTIAL};
	struct trace_reader reader = {.fleet = fleet, .trace = &trace};
	int r = clv_yaml_parse_file(path, &yaml, err);

	if (r == 0)
		r = clv_yaml_read_map(clv_yaml_root(yaml), trace_fields,
			CLV_ARRAY_SIZE(trace_fields), &reader, err);
	if (r == 0)
		r = check_trace(&reader, clv_yaml_root(yaml), err);
	clv_names_done(&reader.names);
	if (r < 0) {
		clv_plan_trace_done(&trace);
		return r;
	}
	if (reader.has_list)
		qsort(trace.entries, trace.n_entries, sizeof(*trace.entries),
			compare_entries);
	*ret = trace;
	return 0;
}

int clv_plan_take_placed(const struct clv_plan_trace *trace, struct clv_fleet *fleet,
	void (*taken)(void *userdata, const struct clv_plan_entry *entry, uint32_t lease),
	void *userdata, struct clv_error *err)
{
	for (size_t i = 0; i < trace->n_placed; i++) {
		const struct clv_plan_entry *entry = &trace->placed[i];
		uint32_t lease;
		int r = clv_fleet_take(fleet, &entry->request, &entry->at, &lease);

		if (r < 0)
			return clv_error_set(err, -EINVAL,
				"the placed request number %zu has no room on node %u: "
				"%s",
				i + 1, entry->at.node,
				r == -EINVAL ? "there is no such place" : "taken");
		if (taken)
			taken(userdata, entry, lease);
	}
	return 0;
}

void clv_plan_trace_done(struct clv_plan_trace *trace)
{
	free(trace->entries);
	free(trace->placed);
	*trace = (struct clv_plan_trace){0};
}
