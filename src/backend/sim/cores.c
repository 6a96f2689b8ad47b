/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and destroys partitions of a simulated CPU: disjoint sets of its processors. */
#include "backend/sim/sim.h"

#include "base/cpus.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int clv_sim_cores_add(const struct clv_sim_device *device, struct clv_sim_state *state,
	const cpu_set_t *cpus, struct clv_error *err)
{
	cpu_set_t common;
	char text[64];

	CPU_AND(&common, cpus, &device->cpus);
	clv_cpus_format(cpus, text, sizeof(text));
	if (!CPU_EQUAL(&common, cpus))
		return clv_error_set(
			err, -EINVAL, "the device lacks some of the processors %s", text);
	for (size_t i = 0; i < state->n_sets; i++) {
		CPU_AND(&common, cpus, &state->sets[i]);
		clv_cpus_format(&common, text, sizeof(text));
		if (CPU_COUNT(&common) > 0)
			return clv_error_set(err, -ENOSPC,
				"the processors %s are in another partition", text);
	}
	if (state->n_sets == CLV_SIM_SETS_MAX)
		return clv_error_set(
			err, -ENOSPC, "at most %d partitions", CLV_SIM_SETS_MAX);
	state->sets[state->n_sets++] = *cpus;
	return 0;
}

/* The processors that the step names, else step->size of them from step->start on. */
static int read_cpus(const struct clv_step *step, cpu_set_t *ret, struct clv_error *err)
{
	char profile[CLV_PROFILE_NAME_MAX];

	if (step->cpus[0] == '\0') {
		CPU_ZERO(ret);
		for (uint32_t i = 0; i < step->size && i < CPU_SETSIZE; i++)
			CPU_SET(step->start + i, ret);
	} else if (clv_cpus_parse(step->cpus, ret) < 0) {
		return clv_error_set(
			err, -EINVAL, "'%s' is not a list of processors", step->cpus);
	}
	snprintf(profile, sizeof(profile), "cores:%d", CPU_COUNT(ret));
	if (CPU_COUNT(ret) == 0 || strcmp(profile, step->profile) != 0)
		return clv_error_set(err, -EINVAL,
			"%d processors are named for a partition of %s", CPU_COUNT(ret),
			step->profile);
	return 0;
}

int clv_sim_cores_create(const struct clv_sim_request *request, struct clv_error *err)
{
	struct clv_sim_device *device = request->device;
	cpu_set_t cpus;
	int r = read_cpus(request->step, &cpus, err);

	if (r == 0)
		r = clv_sim_cores_add(device, &device->state, &cpus, err);
	if (r < 0)
		clv_error_prefix(err, "%s", request->seen->info.name);
	return r;
}

int clv_sim_cores_destroy(const struct clv_sim_request *request, struct clv_error *err)
{
	struct clv_sim_state *state = &request->device->state;
	int r;

	for (size_t i = 0; i < request->seen->n_partitions; i++) {
		const struct clv_partition *seen = &request->seen->partitions[i];

		if (strcmp(seen->name, request->partition->name) != 0)
			continue;
		r = clv_sim_check_partition_idle(seen, err);
		if (r < 0)
			return r;
		assert(i < state->n_sets);
		memmove(&state->sets[i], &state->sets[i + 1],
			(state->n_sets - i - 1) * sizeof(state->sets[0]));
		state->n_sets--;
		return 0;
	}
	return clv_error_set(
		err, -ENODEV, "there is no partition %s", request->partition->name);
}
