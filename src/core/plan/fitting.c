/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the smallest partition that a request for isolated memory can get on a node. */
#include "core/plan/fitting.h"

#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

struct search {
	uint64_t wanted_bytes;
	struct clv_fitting best;
	bool is_best_divided;
	unsigned best_lost;      /* open placements that the best one takes */
	bool is_found, could_be; /* could_be: it would fit if what is in use ended */
	/* Such devices were skipped on which it could be. */
	bool is_cordoned, is_taken;
};

static bool is_better(const struct search *s, const struct clv_fitting *fitting,
	bool is_divided, unsigned lost)
{
	if (!s->is_found || fitting->memory_bytes != s->best.memory_bytes)
		return !s->is_found || fitting->memory_bytes < s->best.memory_bytes;
	if (is_divided != s->is_best_divided)
		return is_divided;
	return lost < s->best_lost;
}

static void offer(struct search *s, const struct clv_fitting *fitting, bool is_divided,
	unsigned lost)
{
	if (!is_better(s, fitting, is_divided, lost))
		return;
	s->is_found = true;
	s->best = *fitting;
	s->is_best_divided = is_divided;
	s->best_lost = lost;
}

static void set_of(const struct clv_node_device *device, struct clv_mig_set *ret)
{
	*ret = (struct clv_mig_set){0};
	for (size_t i = 0; i < device->n_partitions; i++) {
		int profile = clv_mig_profile_find(
			device->mig.model, device->partitions[i].profile, NULL);

		if (profile >= 0)
			clv_mig_set_add(device->mig.model, ret,
				(struct clv_mig_instance){(uint8_t)profile,
					(uint8_t)device->partitions[i].start});
	}
}

/* Open placements that are lost if the profile is created where the planner puts it,
 * which is at its best start. */
static unsigned count_lost(
	const struct clv_mig_model *model, const struct clv_mig_set *set, uint8_t profile)
{
	const struct clv_mig_profile *wanted = &model->profiles[profile];
	unsigned most_left = 0;

	for (unsigned i = 0; i < wanted->n_starts; i++) {
		struct clv_mig_set with = *set;
		struct clv_mig_instance instance = {profile, wanted->starts[i]};
		unsigned left;

		if (clv_mig_set_add(model, &with, instance) != CLV_MIG_NO_OBSTACLE)
			continue;
		left = clv_mig_set_count_options(model, &with);
		most_left = left > most_left ? left : most_left;
	}
	return clv_mig_set_count_options(model, set) - most_left;
}

static void try_mig(
	struct search *s, const struct clv_node_device *device, uint32_t index)
{
	const struct clv_mig_model *model = device->mig.model;
	bool is_blocked = !device->mig.is_on && device->holders.n > 0;
	struct clv_mig_set set;

	if (!model)
		return;
	set_of(device, &set);
	for (uint8_t i = 0; i < model->n_profiles; i++) {
		const struct clv_mig_profile *profile = &model->profiles[i];
		struct clv_fitting fitting = {.device = index,
			.memory_bytes = clv_mig_profile_memory(
				model, profile, device->info.memory_bytes)};

		/* Profiles with attributes, such as media engines, must be requested by
		 * name. */
		if (profile->attributes != 0 || fitting.memory_bytes < s->wanted_bytes)
			continue;
		s->could_be = true;
		if (is_blocked || clv_mig_set_capacity(model, &set, i) == 0)
			continue;
		snprintf(fitting.profile, sizeof(fitting.profile), "%s", profile->name);
		offer(s, &fitting, device->mig.is_on, count_lost(model, &set, i));
	}
}

static void try_cores(
	struct search *s, const struct clv_node_device *device, uint32_t index)
{
	uint64_t each = device->info.memory_bytes / device->cores.total;
	uint32_t n_free = device->cores.total;
	struct clv_fitting fitting = {.device = index};
	uint64_t n;

	if (each == 0 || s->wanted_bytes > device->info.memory_bytes)
		return;
	n = (s->wanted_bytes + each - 1) / each;
	for (size_t i = 0; i < device->n_partitions; i++)
		n_free -= device->partitions[i].size;
	s->could_be |= n <= device->cores.total;
	if (n > n_free || device->holders.n > 0)
		return;
	fitting.memory_bytes = each * n;
	snprintf(fitting.profile, sizeof(fitting.profile), "cores:%" PRIu64, n);
	offer(s, &fitting, device->n_partitions > 0, 0);
}

static int fail(const struct search *s, struct clv_error *err)
{
	char size[32];

	clv_units_format_bytes(s->wanted_bytes, size);
	if (s->is_taken)
		return clv_error_set(err, -EBUSY,
			"no room for a partition of %s beside the operations that change "
			"devices or wait for them: see cleave operations, and try again "
			"after these",
			size);
	if (s->could_be)
		return clv_error_set(err, -EBUSY,
			"no room for a partition of %s now: see cleave profiles for what "
			"fits, and cleave ps for the holders",
			size);
	if (s->is_cordoned)
		return clv_error_set(err, -EBUSY,
			"only a cordoned device has room for a partition of %s: see "
			"cleave devices, then use cleave uncordon or wait",
			size);
	return clv_error_set(err, -ENODEV,
		"no device here can be divided by hardware into a partition of %s: leave "
		"--isolation out to get a share",
		size);
}

static void try_device(
	struct search *s, const struct clv_node_device *device, uint32_t index)
{
	if (device->mig.is_capable)
		try_mig(s, device, index);
	if (device->cores.is_capable && device->cores.total > 0)
		try_cores(s, device, index);
}

static bool could_be_on(
	const struct search *s, const struct clv_node_device *device, uint32_t index)
{
	struct search alone = {.wanted_bytes = s->wanted_bytes};

	try_device(&alone, device, index);
	return alone.could_be;
}

int clv_fitting_find(const struct clv_node *node, const bool *is_taken,
	const char *device, uint64_t memory_bytes, struct clv_fitting *ret,
	struct clv_error *err)
{
	struct search s = {.wanted_bytes = memory_bytes};

	for (uint32_t i = 0; i < node->n_devices; i++) {
		const struct clv_node_device *at = &node->devices[i];

		if (device[0] != '\0' && strcmp(at->info.name, device) != 0 &&
			strcmp(at->info.uuid, device) != 0)
			continue;
		if (at->is_cordoned)
			s.is_cordoned |= could_be_on(&s, at, i);
		else if (is_taken && is_taken[i])
			s.is_taken |= could_be_on(&s, at, i);
		else
			try_device(&s, at, i);
	}
	if (!s.is_found)
		return fail(&s, err);
	*ret = s.best;
	return 0;
}
