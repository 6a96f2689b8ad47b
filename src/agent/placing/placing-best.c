/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses among the devices with room with core/place, whose policy keeps what is left of
 * use to the expected leases.  The machine is presented to it as a fleet: devices that
 * one lease may have together (whole devices that are alike; one device's partitions of
 * one profile) are a node.  Whether a share fits is decided by admission with exact
 * figures; the thousandths and MiB here, rounded down, only rank the options. */
#include "agent/placing/placing-internal.h"

#include "agent/device/devices.h"
#include "agent/placing/demand.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/place.h"
#include "core/place/policy.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define POLICY "balance"
#define MIB_SHIFT 20

/* The machine as a fleet for core/place. */
struct fleet_view {
	struct clv_fleet *fleet;
	struct clv_placer *placer;
	struct clv_workload workload;
	struct clv_place_request *requests; /* by node of the fleet */
	/* Index of the option, by device of the fleet. */
	size_t *options;
	bool *is_added; /* by option: it is in a node */
};

bool clv_placing_are_alike(
	const struct clv_agent_device *a, const struct clv_agent_device *b)
{
	return strcmp(a->info.model, b->info.model) == 0 &&
	       strcmp(a->info.profile, b->info.profile) == 0 &&
	       a->info.memory_bytes == b->info.memory_bytes;
}

static bool are_together(const struct clv_placing_goal *wish, struct clv_agent_device *a,
	struct clv_agent_device *b)
{
	if (!clv_placing_are_alike(a, b))
		return false;
	if (a->parent || b->parent || wish->is_same_device)
		return clv_devices_root(a) == clv_devices_root(b);
	return true;
}

static uint32_t mib_of(uint64_t bytes)
{
	return (uint32_t)(bytes >> MIB_SHIFT);
}

/* Takes the device's promises off the fleet's device; all of it if the option is not
 * open. */
static int take_promised(struct fleet_view *fleet_view, uint32_t node, unsigned at,
	const struct clv_placing_option *option)
{
	const struct clv_fleet_device *device =
		&fleet_view->fleet
			 ->devices[fleet_view->fleet->nodes[node].first_device + at];
	uint64_t ppm = option->promised.compute_ppm;
	struct clv_place_request request = {
		.device_mib = mib_of(option->promised.memory_bytes),
		.milli = (uint16_t)(ppm < CLV_PPM ? ppm / 1000 : CLV_PLACE_WHOLE),
		.n_devices = 1,
	};
	struct clv_place_at place = {.devices = UINT64_C(1) << at, .node = node};
	uint32_t lease;

	if (!option->is_open)
		request.milli = CLV_PLACE_WHOLE;
	if (!option->is_open || request.device_mib > device->memory_mib)
		request.device_mib = device->memory_mib;
	return clv_fleet_take(fleet_view->fleet, &request, &place, &lease);
}

/* Adds a node: the option and all options that may be in a lease with it. */
static int add_node(
	struct fleet_view *fleet_view, const struct clv_placing_goal *wish, size_t first)
{
	const struct clv_device *info = &wish->options[first].device->info;
	uint32_t node = fleet_view->fleet->n_nodes,
		 first_device = fleet_view->fleet->n_devices;
	struct clv_fleet_node_spec spec = {.device_mib = mib_of(info->memory_bytes)};
	uint8_t dies[CLV_PLACE_DEVICES_MAX];
	char model[sizeof(*fleet_view->fleet->models)];
	int r;

	for (size_t i = first; i < wish->n && spec.n_devices < CLV_PLACE_DEVICES_MAX;
		i++) {
		if (fleet_view->is_added[i] ||
			!are_together(wish, wish->options[first].device,
				wish->options[i].device))
			continue;
		fleet_view->is_added[i] = true;
		dies[spec.n_devices] = (uint8_t)(wish->options[i].device->io_die + 1);
		fleet_view->options[first_device + spec.n_devices++] = i;
	}
	clv_demand_model(info->profile, model, sizeof(model));
	spec.model = model;
	spec.dies = dies;
	r = clv_fleet_add_node(fleet_view->fleet, &spec, NULL);
	for (unsigned i = 0; r == 0 && i < spec.n_devices; i++) {
		const struct clv_placing_option *option =
			&wish->options[fleet_view->options[first_device + i]];

		fleet_view->fleet->devices[first_device + i].numa =
			(uint8_t)(option->device->numa_node + 1);
		r = take_promised(fleet_view, node, i, option);
	}
	fleet_view->requests[node] = (struct clv_place_request){
		.device_mib = mib_of(wish->options[first].share.memory_bytes),
		.milli = clv_demand_milli(
			clv_share_promise_ppm(&wish->options[first].share)),
		.n_devices = (uint8_t)wish->count,
		.class = wish->options[first].share.class,
	};
	return r;
}

static int make_view(const struct clv_agent *agent, const struct clv_placing_goal *wish,
	struct fleet_view *fleet_view)
{
	int r = 0;

	fleet_view->fleet = clv_fleet_new();
	fleet_view->requests = calloc(wish->n, sizeof(*fleet_view->requests));
	fleet_view->options = calloc(wish->n, sizeof(*fleet_view->options));
	fleet_view->is_added = calloc(wish->n, sizeof(*fleet_view->is_added));
	if (!fleet_view->fleet || !fleet_view->requests || !fleet_view->options ||
		!fleet_view->is_added)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < wish->n; i++) {
		if (!fleet_view->is_added[i])
			r = add_node(fleet_view, wish, i);
	}
	if (r == 0)
		r = clv_demand_expect(
			agent->demand, fleet_view->fleet, &fleet_view->workload);
	for (uint32_t i = 0; r == 0 && i < fleet_view->fleet->n_nodes; i++) {
		if (i == 0 || fleet_view->requests[i].device_mib !=
				      fleet_view->requests[0].device_mib)
			r = clv_workload_add(
				&fleet_view->workload, &fleet_view->requests[i], 1);
	}
	clv_workload_cut(&fleet_view->workload, 100);
	if (r == 0)
		r = clv_placer_new(fleet_view->fleet, clv_place_policy_find(POLICY),
			&fleet_view->workload, NULL, &fleet_view->placer, NULL);
	return r;
}

static void done(struct fleet_view *fleet_view)
{
	clv_placer_free(fleet_view->placer);
	clv_workload_done(&fleet_view->workload);
	clv_fleet_free(fleet_view->fleet);
	free(fleet_view->requests);
	free(fleet_view->options);
	free(fleet_view->is_added);
}

/* Several devices are looked for on one NUMA node first. */
static int find(struct fleet_view *fleet_view, const struct clv_placing_goal *wish,
	struct clv_place_at *ret_at)
{
	int r;

	for (uint32_t i = 0; i < fleet_view->fleet->n_nodes; i++)
		fleet_view->requests[i].same_numa = wish->count > 1;
	r = clv_placer_find_each(fleet_view->placer, fleet_view->requests, ret_at);
	if (r != -ENOSPC || wish->count == 1)
		return r;
	for (uint32_t i = 0; i < fleet_view->fleet->n_nodes; i++)
		fleet_view->requests[i].same_numa = false;
	return clv_placer_find_each(fleet_view->placer, fleet_view->requests, ret_at);
}

static bool is_only_one(const struct clv_placing_goal *wish, size_t *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < wish->n; i++) {
		if (!wish->options[i].is_open)
			continue;
		*ret = i;
		n++;
	}
	return n == 1 && wish->count == 1;
}

/* An overcommitting request may fit nowhere: it goes where the least is promised. */
static int find_least(const struct clv_placing_goal *wish, size_t *ret)
{
	size_t best = wish->n;

	for (size_t i = 0; i < wish->n; i++) {
		if (wish->options[i].is_open &&
			(best == wish->n ||
				wish->options[i].promised.compute_ppm <
					wish->options[best].promised.compute_ppm))
			best = i;
	}
	*ret = best;
	return best < wish->n ? 0 : -ENOSPC;
}

int clv_placing_best(
	const struct clv_agent *agent, const struct clv_placing_goal *wish, size_t *ret)
{
	struct fleet_view fleet_view = {0};
	struct clv_place_at at;
	int r;

	assert(wish->n > 0 && wish->count > 0 && wish->count <= CLV_LEASE_DEVICES_MAX);
	if (is_only_one(wish, ret))
		return 0;
	r = make_view(agent, wish, &fleet_view);
	if (r == 0)
		r = find(&fleet_view, wish, &at);
	for (uint64_t left = r == 0 ? at.devices : 0; left; left &= left - 1)
		*ret++ =
			fleet_view.options[fleet_view.fleet->nodes[at.node].first_device +
					   (uint32_t)__builtin_ctzll(left)];
	done(&fleet_view);
	return r == -ENOSPC && wish->count == 1 ? find_least(wish, ret) : r;
}
