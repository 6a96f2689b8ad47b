/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the devices with room a lease goes to, by core/place and the policy that is
 * our own: what is left must be of use to the leases that usually come.  To it the
 * machine is a fleet: devices that a lease may have together (whole ones that are alike;
 * a device's partitions of one profile) are the devices of one node.  Whether something
 * fits is not decided here but by the admission's exact figures; thousandths and MiB,
 * rounded down, only say how well. */
#include "agent/ledger/placing-internal.h"

#include "agent/device/devices.h"
#include "agent/ledger/demand.h"
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

/* The machine as core/place sees it. */
struct bed {
	struct clv_fleet *fleet;
	struct clv_placer *placer;
	struct clv_workload workload;
	struct clv_place_request *requests; /* by node */
	size_t *options;                    /* by device of the fleet */
	bool *is_put;                       /* by option */
};

bool clv_placing_are_alike(
	const struct clv_agent_device *a, const struct clv_agent_device *b)
{
	return strcmp(a->info.model, b->info.model) == 0 &&
	       strcmp(a->info.profile, b->info.profile) == 0 &&
	       a->info.memory_bytes == b->info.memory_bytes;
}

static bool are_together(const struct clv_placing_wish *wish, struct clv_agent_device *a,
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

/* What is promised of it already; where nothing may be added, all of it. */
static int take_promised(struct bed *bed, uint32_t node, unsigned at,
	const struct clv_placing_option *option)
{
	const struct clv_fleet_device *device =
		&bed->fleet->devices[bed->fleet->nodes[node].first_device + at];
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
	return clv_fleet_take(bed->fleet, &request, &place, &lease);
}

/* One node: the option and all that are together with it. */
static int add_node(struct bed *bed, const struct clv_placing_wish *wish, size_t first)
{
	const struct clv_device *info = &wish->options[first].device->info;
	uint32_t node = bed->fleet->n_nodes, first_device = bed->fleet->n_devices;
	struct clv_fleet_node_spec spec = {.device_mib = mib_of(info->memory_bytes)};
	char model[sizeof(*bed->fleet->models)];
	int r;

	for (size_t i = first; i < wish->n && spec.n_devices < CLV_PLACE_DEVICES_MAX;
		i++) {
		if (bed->is_put[i] || !are_together(wish, wish->options[first].device,
					      wish->options[i].device))
			continue;
		bed->is_put[i] = true;
		bed->options[first_device + spec.n_devices++] = i;
	}
	clv_demand_model(info->profile, model, sizeof(model));
	spec.model = model;
	r = clv_fleet_add_node(bed->fleet, &spec, NULL);
	for (unsigned i = 0; r == 0 && i < spec.n_devices; i++) {
		const struct clv_placing_option *option =
			&wish->options[bed->options[first_device + i]];

		bed->fleet->devices[first_device + i].numa =
			(uint8_t)(option->device->numa_node + 1);
		r = take_promised(bed, node, i, option);
	}
	bed->requests[node] = (struct clv_place_request){
		.device_mib = mib_of(wish->options[first].share.memory_bytes),
		.milli = clv_demand_milli(
			clv_share_promise_ppm(&wish->options[first].share)),
		.n_devices = (uint8_t)wish->count,
		.class = wish->options[first].share.class,
	};
	return r;
}

static int make_bed(const struct clv_agent *agent, const struct clv_placing_wish *wish,
	struct bed *bed)
{
	int r = 0;

	bed->fleet = clv_fleet_new();
	bed->requests = calloc(wish->n, sizeof(*bed->requests));
	bed->options = calloc(wish->n, sizeof(*bed->options));
	bed->is_put = calloc(wish->n, sizeof(*bed->is_put));
	if (!bed->fleet || !bed->requests || !bed->options || !bed->is_put)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < wish->n; i++) {
		if (!bed->is_put[i])
			r = add_node(bed, wish, i);
	}
	if (r == 0)
		r = clv_demand_expect(agent->demand, bed->fleet, &bed->workload);
	for (uint32_t i = 0; r == 0 && i < bed->fleet->n_nodes; i++) {
		if (i == 0 || bed->requests[i].device_mib != bed->requests[0].device_mib)
			r = clv_workload_add(&bed->workload, &bed->requests[i], 1);
	}
	clv_workload_cut(&bed->workload, 100);
	if (r == 0)
		r = clv_placer_new(bed->fleet, clv_place_policy_find(POLICY),
			&bed->workload, NULL, &bed->placer, NULL);
	return r;
}

static void done(struct bed *bed)
{
	clv_placer_free(bed->placer);
	clv_workload_done(&bed->workload);
	clv_fleet_free(bed->fleet);
	free(bed->requests);
	free(bed->options);
	free(bed->is_put);
}

/* Near each other first, then anywhere on the node. */
static int find(
	struct bed *bed, const struct clv_placing_wish *wish, struct clv_place_at *ret_at)
{
	int r;

	for (uint32_t i = 0; i < bed->fleet->n_nodes; i++)
		bed->requests[i].same_numa = wish->count > 1;
	r = clv_placer_find_each(bed->placer, bed->requests, ret_at);
	if (r != -ENOSPC || wish->count == 1)
		return r;
	for (uint32_t i = 0; i < bed->fleet->n_nodes; i++)
		bed->requests[i].same_numa = false;
	return clv_placer_find_each(bed->placer, bed->requests, ret_at);
}

static bool is_only_one(const struct clv_placing_wish *wish, size_t *ret)
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

/* Who overcommits fits nowhere at times, and goes where the least is promised. */
static int find_least(const struct clv_placing_wish *wish, size_t *ret)
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
	const struct clv_agent *agent, const struct clv_placing_wish *wish, size_t *ret)
{
	struct bed bed = {0};
	struct clv_place_at at;
	int r;

	assert(wish->n > 0 && wish->count > 0 && wish->count <= CLV_LEASE_DEVICES_MAX);
	if (is_only_one(wish, ret))
		return 0;
	r = make_bed(agent, wish, &bed);
	if (r == 0)
		r = find(&bed, wish, &at);
	for (uint64_t left = r == 0 ? at.devices : 0; left; left &= left - 1)
		*ret++ = bed.options[bed.fleet->nodes[at.node].first_device +
				     (uint32_t)__builtin_ctzll(left)];
	done(&bed);
	return r == -ENOSPC && wish->count == 1 ? find_least(wish, ret) : r;
}
