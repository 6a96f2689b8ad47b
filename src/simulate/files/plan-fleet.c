/* SPDX-License-Identifier: Apache-2.0 */
/* Fleets in YAML. */
#include "simulate/files/plan-file.h"

#include "core/gpu/gpu.h"
#include "simulate/files/nodes.h"
#include "simulate/files/plan-read.h"

#include "base/error.h"
#include "core/fleet/fleet.h"

#include <errno.h>
#include <stddef.h>

struct node_entry {
	char model[64], rack[64];
	uint64_t count;
	double price;
	uint32_t cpu_milli, memory_mib, device_mib;
	struct clv_plan_watts device_watts, socket_watts;
	uint32_t socket_milli;
	uint8_t n_devices, n_numa, n_linked;
	bool is_mig;
};

#define AT(member) offsetof(struct node_entry, member)
/* clang-format off */
static const struct clv_yaml_field node_fields[] = {
	{"model",         clv_plan_read_name,  true,  AT(model)},
	{"count",         clv_plan_read_u64,   false, AT(count)},
	{"cpus",          clv_plan_read_cpus,  true,  AT(cpu_milli)},
	{"memory",        clv_plan_read_mib,   true,  AT(memory_mib)},
	{"devices",       clv_plan_read_small, true,  AT(n_devices)},
	{"device_memory", clv_plan_read_mib,   false, AT(device_mib)},
	{"numa",          clv_plan_read_small, false, AT(n_numa)},
	{"nvlink",        clv_plan_read_small, false, AT(n_linked)},
	{"mig",           clv_plan_read_flag,   false, AT(is_mig)},
	{"price",         clv_plan_read_decimal, false, AT(price)},
	{"rack",          clv_plan_read_name,   false, AT(rack)},
	{"device_watts",  clv_plan_read_watts,  false, AT(device_watts)},
	{"socket_watts",  clv_plan_read_watts,  false, AT(socket_watts)},
	{"socket_cpus",   clv_plan_read_cpus,   false, AT(socket_milli)},
};
/* clang-format on */
#undef AT

/* Returns 1 + the index of the scheme of a model with MIG, which is added if it is new,
 * or a negative errno. */
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

struct fleet_document {
	struct clv_fleet *fleet;
	struct clv_node_notes *notes;
};

static int read_node(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct node_entry entry = {.count = 1};
	const struct fleet_document *document = into;
	struct clv_fleet *fleet = document->fleet;
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
		.rack = entry.rack,
		.cpu_milli = entry.cpu_milli,
		.memory_mib = entry.memory_mib,
		.device_mib = entry.device_mib,
		.n_devices = entry.n_devices,
		.n_numa = entry.n_numa,
		.n_linked = entry.n_linked,
		.power =
			{
				.device_idle_w = entry.device_watts.idle_w,
				.device_full_w = entry.device_watts.full_w,
				.socket_idle_w = entry.socket_watts.idle_w,
				.socket_full_w = entry.socket_watts.full_w,
				.socket_milli = entry.socket_milli,
			},
		.scheme = (uint8_t)scheme,
	};
	for (uint64_t i = 0; r == 0 && i < entry.count; i++) {
		r = clv_fleet_add_node(fleet, &spec, err);
		if (r == 0 && document->notes)
			r = clv_node_notes_add(document->notes, entry.price, err);
	}
	return r < 0 ? clv_yaml_prefix_position(value, err) : 0;
}

static int read_nodes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_node, into, err);
}

static const struct clv_yaml_field fleet_fields[] = {
	{"version", clv_plan_read_version, true, 0},
	{"nodes", read_nodes, true, 0},
};

int clv_plan_read_fleet(const char *path, struct clv_fleet *fleet,
	struct clv_node_notes *notes, struct clv_error *err)
{
	_cleanup_yaml_ struct clv_yaml *yaml = NULL;
	struct fleet_document document = {.fleet = fleet, .notes = notes};
	int r = clv_yaml_parse_file(path, &yaml, err);

	if (r == 0)
		r = clv_yaml_read_map(clv_yaml_root(yaml), fleet_fields,
			CLV_ARRAY_SIZE(fleet_fields), &document, err);
	if (r == 0 && fleet->n_nodes == 0)
		return clv_yaml_fail(
			clv_yaml_root(yaml), err, -EINVAL, "the fleet has no nodes");
	return r;
}
