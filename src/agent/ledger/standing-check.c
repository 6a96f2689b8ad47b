/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the standing shares of a plan: against the memory of their devices and
 * partitions, and against the active leases. */
#include "agent/ledger/standing.h"

#include "agent/device/devices.h"
#include "agent/ledger/ledger.h"
#include "agent/record/agent.h"
#include "base/array.h"
#include "base/error.h"
#include "base/units.h"
#include "core/plan/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct clv_partition *find_partition(
	const struct clv_partition *partitions, size_t n, const char *name)
{
	const struct clv_partition *found = NULL;

	for (size_t i = 0; i < n && !found; i++)
		found = strcmp(partitions[i].name, name) == 0
				? &partitions[i]
				: find_partition(partitions[i].parts,
					  partitions[i].n_parts, name);
	return found;
}

/* The number of equal parts into which a mode divides the device's memory; 0: not a
 * mode. */
static uint32_t count_of_mode(const struct clv_node_device *device, const char *profile)
{
	enum clv_compute_mode compute;
	char name[CLV_PROFILE_NAME_MAX];
	unsigned int n;

	if (sscanf(profile, "vf:%u", &n) == 1)
		return n;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(profile, "/"), profile);
	compute = clv_compute_mode_from_string(name);
	return compute < 0 ? 0 : clv_xcp_devices(compute, device->xcp.dies);
}

/* The most memory that a partition that does not exist yet can have, by its profile in
 * `where`. 0: not known. */
static uint64_t planned_memory(const struct clv_node_device *device, const char *where)
{
	const char *slash = strchr(where, '/');
	char profile[CLV_PROFILE_NAME_MAX];
	uint32_t n;
	int at = -1;

	if (!slash)
		return 0;
	snprintf(profile, sizeof(profile), "%.*s", (int)strcspn(slash + 1, "@"),
		slash + 1);
	if (device->cores.total > 0 && sscanf(profile, "cores:%" SCNu32, &n) == 1)
		return device->info.memory_bytes / device->cores.total * n;
	n = count_of_mode(device, profile);
	if (n > 0)
		return device->info.memory_bytes / n;
	if (device->mig.model)
		at = clv_mig_profile_find(device->mig.model, profile, NULL);
	if (at < 0)
		return 0;
	return clv_mig_profile_memory(device->mig.model, &device->mig.model->profiles[at],
		device->info.memory_bytes);
}

static uint64_t memory_of(const struct clv_node_device *device, const char *where)
{
	const struct clv_partition *partition =
		find_partition(device->partitions, device->n_partitions, where);

	if (strcmp(where, device->info.name) == 0)
		return device->info.memory_bytes;
	return partition ? partition->memory_bytes : planned_memory(device, where);
}

/* Whether the shares of another place, or none, begin here. */
static bool is_first_of(const struct clv_plan *plan, size_t i)
{
	return i == 0 || i == plan->n_shares ||
	       strcmp(plan->shares[i - 1].where, plan->shares[i].where) != 0;
}

/* Sums the shares of the place of share `first`, resolved.  -ERANGE or -EINVAL: one share
 * alone is too large. */
static int sum_shares(const struct clv_plan *plan, size_t first, uint64_t memory_bytes,
	const char *layout_name, struct clv_promised *ret, struct clv_error *err)
{
	*ret = (struct clv_promised){0};
	for (size_t i = first; i == first || !is_first_of(plan, i); i++) {
		const struct clv_plan_share *share = &plan->shares[i];
		struct clv_share resolved;

		if (clv_share_resolve(&share->request, memory_bytes, &resolved, err) <
			0) {
			clv_error_prefix(
				err, "%s: the share %s", layout_name, share->name);
			return err->code;
		}
		ret->compute_ppm += resolved.compute_ppm;
		ret->memory_bytes += resolved.memory_bytes;
	}
	return 0;
}

static int check_memory(const char *where, uint64_t wanted_bytes, uint64_t memory_bytes,
	const char *layout_name, struct clv_error *err)
{
	char wanted[32], has[32];

	if (wanted_bytes <= memory_bytes)
		return 0;
	clv_units_format_bytes(wanted_bytes, wanted);
	clv_units_format_bytes(memory_bytes, has);
	return clv_error_set(err, -ERANGE,
		"%s: the shares of %s need %s of memory together and it has %s: make "
		"them smaller",
		layout_name, where, wanted, has);
}

int clv_standing_check(const struct clv_node *node, const struct clv_plan *plan,
	const char *layout_name, struct clv_error *err)
{
	for (size_t i = 0; i < plan->n_shares; i++) {
		const struct clv_plan_share *share = &plan->shares[i];
		uint64_t memory_bytes =
			memory_of(&node->devices[share->device], share->where);
		struct clv_promised sum;
		int r;

		if (memory_bytes == 0 || !is_first_of(plan, i))
			continue;
		r = sum_shares(plan, i, memory_bytes, layout_name, &sum, err);
		if (r >= 0)
			r = check_memory(share->where, sum.memory_bytes, memory_bytes,
				layout_name, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Leases. */

static bool is_in_plan(const struct clv_plan *plan, const char *standing)
{
	for (size_t i = 0; standing[0] != '\0' && i < plan->n_shares; i++) {
		if (strcmp(plan->shares[i].name, standing) == 0)
			return true;
	}
	return false;
}

/* Whether the lease counts beside the plan's shares; one in a share of the plan is
 * counted with the share. */
static bool counts(const struct clv_lease *lease, const struct clv_agent_device *device,
	const struct clv_plan *plan)
{
	return clv_lease_is_on(lease, device) && !lease->record.is_queued &&
	       !is_in_plan(plan, lease->record.standing);
}

static int add_obstacle(struct clv_agent *agent, struct clv_plan *plan,
	const struct clv_plan_share *share, const struct clv_agent_device *device)
{
	struct clv_obstacle *obstacle = CLV_APPEND(plan->obstacles, plan->n_obstacles);
	const struct clv_lease *lease;

	if (!obstacle)
		return -ENOMEM;
	obstacle->device = share->device;
	snprintf(obstacle->partition, sizeof(obstacle->partition), "%s",
		device->parent ? share->where : "");
	snprintf(obstacle->why, sizeof(obstacle->why),
		"what is promised on it does not fit beside the standing shares");
	TAILQ_FOREACH(lease, clv_ledger_leases(agent->ledger), entry)
	{
		struct clv_holder *holder = counts(lease, device, plan)
						    ? clv_holders_add(&obstacle->holders)
						    : NULL;

		if (!holder)
			continue;
		snprintf(holder->lease, sizeof(holder->lease), "%s", lease->record.id);
		snprintf(holder->text, sizeof(holder->text), "lease %.32s of %.32s",
			lease->record.name, lease->record.tenant);
	}
	return 0;
}

static void sum_leases(const struct clv_agent *agent, const struct clv_plan *plan,
	const struct clv_agent_device *device, struct clv_promised *sum)
{
	const struct clv_lease *lease;

	TAILQ_FOREACH(lease, clv_ledger_leases(agent->ledger), entry)
	{
		if (!counts(lease, device, plan) || lease->record.overcommit)
			continue;
		sum->compute_ppm += clv_share_promise_ppm(&lease->record.share);
		sum->memory_bytes += lease->record.share.memory_bytes;
	}
}

int clv_standing_add_obstacles(
	struct clv_agent *agent, struct clv_plan *plan, struct clv_error *err)
{
	for (size_t i = 0; i < plan->n_shares; i++) {
		const struct clv_plan_share *share = &plan->shares[i];
		const struct clv_agent_device *device =
			clv_devices_find(agent->devices, share->where);
		struct clv_promised sum, with;
		int r;

		if (!device || !is_first_of(plan, i))
			continue;
		r = sum_shares(plan, i, device->info.memory_bytes, "", &sum, err);
		if (r < 0)
			return r;
		with = sum;
		sum_leases(agent, plan, device, &with);
		if (with.compute_ppm == sum.compute_ppm ||
			(with.compute_ppm <= CLV_PPM &&
				with.memory_bytes <= device->info.memory_bytes))
			continue;
		if (add_obstacle(agent, plan, share, device) < 0)
			return clv_error_errno(err, ENOMEM, "cannot plan");
	}
	return 0;
}
