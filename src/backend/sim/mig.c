/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates MIG as NVIDIA's driver implements it: the mode and its reset, GPU instances
 * at exact places, compute instances inside them. */
#include "backend/sim/sim.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- The mode --- */

/* The driver records the pending mode before it looks for clients, so the mode stays
 * pending if the GPU is in use. */
static int reset(const struct clv_sim_request *request, struct clv_error *err)
{
	const char *name = request->seen->info.name;
	struct clv_sim_state *state = &request->device->state;
	int r;

	state->mig_pending = true;
	if (request->device->reset == CLV_SIM_RESET_REFUSED)
		return clv_error_set(err, -ENOTSUP,
			"%s may not be reset in this virtual machine: its MIG mode "
			"changes when the machine restarts",
			name);
	r = clv_sim_check_idle(request->seen, err);
	if (r < 0)
		clv_error_prefix(
			err, "%s cannot be reset now, its MIG mode is pending", name);
	return r;
}

int clv_sim_set_mig_mode(const struct clv_sim_request *request, struct clv_error *err)
{
	struct clv_sim_device *device = request->device;
	const char *name = request->seen->info.name;
	bool is_on = request->value != 0;
	int r;

	if (!device->mig)
		return clv_error_set(
			err, -ENOTSUP, "%s (%s) has no MIG", name, device->product.model);
	if (is_on == device->state.mig_on) {
		device->state.mig_pending = false;
		return 0;
	}
	if (!is_on && device->state.n_instances > 0)
		return clv_error_set(
			err, -EBUSY, "%s has GPU instances: destroy them first", name);
	r = clv_sim_check_scheme(request->seen, CLV_SCHEME_MIG, err);
	if (r == 0)
		r = device->reset == CLV_SIM_RESET_NONE
			    ? clv_sim_check_idle(request->seen, err)
			    : reset(request, err);
	if (r < 0)
		return r;
	device->state.mig_on = is_on;
	device->state.mig_pending = false;
	return 0;
}

/* A reload of the driver destroys all instances, and since Hopper resets the mode, too.
 */
void clv_sim_mig_reload(struct clv_sim_device *device)
{
	struct clv_sim_state *state = &device->state;

	state->n_instances = 0;
	if (state->mig_pending)
		state->mig_on = !state->mig_on;
	else if (device->product.is_mig_lost_at_reboot)
		state->mig_on = false;
	state->mig_pending = false;
}

/* --- GPU instances --- */

static struct clv_mig_set set_of(
	const struct clv_mig_model *model, const struct clv_sim_state *state)
{
	struct clv_mig_set set = {0};

	for (size_t i = 0; i < state->n_instances; i++) {
		const struct clv_sim_instance *instance = &state->instances[i];

		clv_mig_set_add(model, &set,
			(struct clv_mig_instance){instance->profile, instance->start});
	}
	return set;
}

int clv_sim_instance_add(const struct clv_sim_device *device, struct clv_sim_state *state,
	const struct clv_sim_instance *instance, struct clv_error *err)
{
	struct clv_mig_set set = set_of(device->mig, state);
	enum clv_mig_obstacle obstacle = clv_mig_set_add(device->mig, &set,
		(struct clv_mig_instance){instance->profile, instance->start});

	if (obstacle != CLV_MIG_NO_OBSTACLE)
		return clv_error_set(err,
			obstacle == CLV_MIG_NO_SUCH_START ? -EINVAL : -ENOSPC,
			"no %s at %u: %s", device->mig->profiles[instance->profile].name,
			instance->start, clv_mig_obstacle_to_string(obstacle));
	assert(state->n_instances < CLV_ARRAY_SIZE(state->instances));
	state->instances[state->n_instances++] = *instance;
	return 0;
}

static int check_mode(const struct clv_sim_request *request, struct clv_error *err)
{
	if (request->device->state.mig_on)
		return 0;
	return clv_error_set(err, -ENOTSUP, "MIG is off on %s: turn it on first",
		request->seen->info.name);
}

int clv_sim_mig_create(const struct clv_sim_request *request, struct clv_error *err)
{
	const struct clv_step *step = request->step;
	struct clv_sim_device *device = request->device;
	struct clv_sim_instance instance = {0};
	int r = check_mode(request, err);

	if (r == 0)
		r = clv_mig_profile_find(device->mig, step->profile, err);
	if (r < 0)
		return r;
	if (step->start >= CLV_MIG_STARTS_MAX)
		return clv_error_set(err, -EINVAL, "%s has no placement at %u",
			request->seen->info.name, step->start);
	instance.profile = (uint8_t)r;
	instance.start = (uint8_t)step->start;
	if (!step->has_parts) {
		instance.n_parts = 1;
		instance.parts[0].size = device->mig->profiles[r].slices;
	}
	r = clv_sim_instance_add(device, &device->state, &instance, err);
	if (r < 0)
		clv_error_prefix(err, "%s", request->seen->info.name);
	return r;
}

/* Partitions are shown in the order of state.instances, so the index is the same. */
static struct clv_sim_instance *find_instance(const struct clv_sim_request *request,
	const char *name, const struct clv_partition **ret_seen, struct clv_error *err)
{
	for (size_t i = 0; i < request->seen->n_partitions; i++) {
		if (strcmp(request->seen->partitions[i].name, name) != 0)
			continue;
		assert(i < request->device->state.n_instances);
		*ret_seen = &request->seen->partitions[i];
		return &request->device->state.instances[i];
	}
	clv_error_set(err, -ENODEV, "there is no partition %s", name);
	return NULL;
}

int clv_sim_mig_destroy(const struct clv_sim_request *request, struct clv_error *err)
{
	struct clv_sim_state *state = &request->device->state;
	const struct clv_partition *seen;
	struct clv_sim_instance *instance =
		find_instance(request, request->partition->name, &seen, err);
	size_t n_behind;
	int r;

	if (!instance)
		return -ENODEV;
	r = clv_sim_check_partition_idle(seen, err);
	if (r < 0)
		return r;
	n_behind = state->n_instances - (size_t)(instance - state->instances) - 1;
	memmove(instance, instance + 1, n_behind * sizeof(*instance));
	state->n_instances--;
	return 0;
}

/* --- Compute instances --- */

/* Core has the rules for parts inside an instance; the profile of a part follows from its
 * size in slices. */
static enum clv_mig_obstacle put_part(const struct clv_mig_model *model,
	struct clv_mig_set *set, struct clv_sim_part part)
{
	for (uint8_t i = 0; i < model->n_profiles; i++) {
		if (model->profiles[i].slices == part.size)
			return clv_mig_set_add(
				model, set, (struct clv_mig_instance){i, part.start});
	}
	return CLV_MIG_NO_SUCH_START;
}

int clv_sim_part_add(const struct clv_mig_model *model, struct clv_sim_instance *instance,
	struct clv_sim_part part, struct clv_error *err)
{
	const struct clv_mig_profile *profile = &model->profiles[instance->profile];
	const struct clv_mig_model *inside = clv_mig_model_of_parts(profile->slices);
	enum clv_mig_obstacle obstacle;
	struct clv_mig_set set = {0};

	for (size_t i = 0; i < instance->n_parts; i++)
		put_part(inside, &set, instance->parts[i]);
	obstacle = put_part(inside, &set, part);
	if (obstacle != CLV_MIG_NO_OBSTACLE)
		return clv_error_set(err,
			obstacle == CLV_MIG_NO_SUCH_START ? -EINVAL : -ENOSPC,
			"no %uc.%s at %u: %s", part.size, profile->name, part.start,
			clv_mig_obstacle_to_string(obstacle));
	assert(instance->n_parts < CLV_ARRAY_SIZE(instance->parts));
	instance->parts[instance->n_parts++] = part;
	return 0;
}

bool clv_sim_instance_is_whole(
	const struct clv_mig_model *model, const struct clv_sim_instance *instance)
{
	return instance->n_parts == 1 &&
	       instance->parts[0].size == model->profiles[instance->profile].slices;
}

/* Reads "1c.3g.20gb" in an instance of 3g.20gb; "3g.20gb" is a part that fills it. */
static int read_part_profile(const struct clv_mig_profile *profile, const char *text,
	uint8_t *ret_size, struct clv_error *err)
{
	char *end;
	unsigned long size = strtoul(text, &end, 10);

	if (strcmp(text, profile->name) == 0) {
		*ret_size = profile->slices;
		return 0;
	}
	if (size < 1 || size > profile->slices || strncmp(end, "c.", 2) != 0 ||
		strcmp(end + 2, profile->name) != 0)
		return clv_error_set(err, -EINVAL,
			"'%.40s' is not a compute instance of %s: write 1c.%s", text,
			profile->name, profile->name);
	*ret_size = (uint8_t)size;
	return 0;
}

int clv_sim_mig_create_part(const struct clv_sim_request *request, struct clv_error *err)
{
	const struct clv_mig_model *model = request->device->mig;
	const struct clv_step *step = request->step;
	const struct clv_partition *seen;
	struct clv_sim_instance *instance;
	struct clv_sim_part part = {0};
	int r = check_mode(request, err);

	if (r < 0)
		return r;
	instance = find_instance(request, step->inside, &seen, err);
	if (!instance)
		return -ENODEV;
	r = read_part_profile(
		&model->profiles[instance->profile], step->profile, &part.size, err);
	if (r < 0)
		return r;
	part.start = (uint8_t)(step->start < UINT8_MAX ? step->start : UINT8_MAX);
	r = clv_sim_part_add(model, instance, part, err);
	if (r < 0)
		clv_error_prefix(err, "%s", seen->name);
	return r;
}

/* The index of a part in the instance, or n_parts.  The part that fills the instance is
 * given as the instance, whose start and size are others than the part's. */
static size_t find_part(
	const struct clv_sim_request *request, const struct clv_sim_instance *instance)
{
	const struct clv_partition *part = request->partition;
	size_t i;

	if (part == request->inside &&
		clv_sim_instance_is_whole(request->device->mig, instance))
		return 0;
	for (i = 0; i < instance->n_parts && part != request->inside; i++) {
		if (instance->parts[i].start == part->start &&
			instance->parts[i].size == part->size)
			return i;
	}
	return instance->n_parts;
}

int clv_sim_mig_destroy_part(const struct clv_sim_request *request, struct clv_error *err)
{
	const struct clv_partition *part = request->partition, *seen;
	struct clv_sim_instance *instance =
		find_instance(request, request->inside->name, &seen, err);
	size_t i;
	int r;

	if (!instance)
		return -ENODEV;
	i = find_part(request, instance);
	if (i == instance->n_parts)
		return clv_error_set(
			err, -ENODEV, "there is no partition %s", part->name);
	r = clv_sim_check_partition_idle(seen->n_parts > 0 ? &seen->parts[i] : seen, err);
	if (r < 0)
		return r;
	memmove(&instance->parts[i], &instance->parts[i + 1],
		(instance->n_parts - i - 1) * sizeof(instance->parts[0]));
	instance->n_parts--;
	return 0;
}
