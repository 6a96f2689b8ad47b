/* SPDX-License-Identifier: Apache-2.0 */
/* Reads how a device is divided, from the state file and from the key `at-start` of a
 * node's file.  A state that the rules could not produce is rejected. */
#include "backend/sim/sim.h"

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

void clv_sim_state_init(struct clv_sim_device *device)
{
	device->state = (struct clv_sim_state){
		.compute = CLV_SPX,
		.memory = CLV_NPS1,
	};
}

/* --- MIG --- */

struct instance_entry {
	const struct clv_mig_model *model;
	struct clv_sim_instance instance;
	struct clv_yaml_value parts;
};

static int read_profile(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct instance_entry *entry = into;
	int r = clv_mig_profile_find(entry->model, clv_yaml_text(value), err);

	if (r < 0) {
		clv_yaml_prefix_position(value, err);
		return r;
	}
	entry->instance.profile = (uint8_t)r;
	return 0;
}

static int read_start(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint32_t start;
	int r = clv_sim_read_number(value, 0, CLV_MIG_STARTS_MAX - 1, &start, err);

	if (r == 0)
		((struct instance_entry *)into)->instance.start = (uint8_t)start;
	return r;
}

/* "2c@0" */
static int read_part(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct instance_entry *entry = into;
	const char *text = clv_yaml_text(value);
	struct clv_sim_part part;
	int r;

	if (strlen(text) != 4 || text[0] < '1' || text[0] > '9' || text[1] != 'c' ||
		text[2] != '@' || text[3] < '0' || text[3] > '9')
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is not a compute instance: write 2c@0 for two slices "
			"from "
			"the first",
			text);
	part = (struct clv_sim_part){(uint8_t)(text[3] - '0'), (uint8_t)(text[0] - '0')};
	r = clv_sim_part_add(entry->model, &entry->instance, part, err);
	if (r < 0)
		clv_yaml_prefix_position(value, err);
	return r;
}

static const struct clv_yaml_field instance_fields[] = {
	{"profile", read_profile, true, 0},
	{"start", read_start, true, 0},
	{"parts", clv_sim_read_value, false, offsetof(struct instance_entry, parts)},
};

/* Without the key `parts` one part fills the instance. */
static int read_parts(struct instance_entry *entry, struct clv_error *err)
{
	const struct clv_mig_profile *profile =
		&entry->model->profiles[entry->instance.profile];

	if (entry->parts.yaml)
		return clv_yaml_read_list(entry->parts, read_part, entry, err);
	return clv_sim_part_add(entry->model, &entry->instance,
		(struct clv_sim_part){0, profile->slices}, err);
}

static int read_instance(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_sim_device *device = into;
	struct instance_entry entry = {.model = device->mig};
	int r = clv_yaml_read_map(
		value, instance_fields, CLV_ARRAY_SIZE(instance_fields), &entry, err);

	if (r == 0)
		r = read_parts(&entry, err);
	if (r < 0)
		return r;
	r = clv_sim_instance_add(device, &device->state, &entry.instance, err);
	if (r < 0)
		clv_yaml_prefix_position(value, err);
	return r;
}

static int read_instances(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_instance, into, err);
}

/* --- AMD's modes --- */

static int read_compute(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	enum clv_compute_mode mode = clv_compute_mode_from_string(clv_yaml_text(value));

	if (mode < 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is not a compute mode: there are SPX, DPX, TPX, QPX and "
			"CPX",
			clv_yaml_text(value));
	*(enum clv_compute_mode *)into = mode;
	return 0;
}

static int read_memory(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint32_t mode = clv_memory_mode_from_string(clv_yaml_text(value));

	if (mode == 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is not a memory mode: there are NPS1, NPS2, NPS4 and "
			"NPS8",
			clv_yaml_text(value));
	*(uint32_t *)into = mode;
	return 0;
}

/* --- Virtual functions --- */

static int read_vf_count(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_sim_device *device = into;
	uint32_t count = 0;
	int r = clv_sim_read_number(value, 0, CLV_SIM_VFS_MAX, &count, err);

	if (r == 0) {
		r = clv_sim_vf_count_check(device, count, err);
		if (r < 0)
			clv_yaml_prefix_position(value, err);
	}
	if (r == 0)
		device->state.vf_count = count;
	return r;
}

struct function_entry {
	const struct clv_sim_device *device;
	uint32_t number;
	struct clv_vf_quota quota;
};

static int read_number(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct function_entry *entry = into;

	return clv_sim_read_number(
		value, 1, entry->device->vf_total, &entry->number, err);
}

CLV_SIM_DEFINE_READ_PLAIN(read_priority, struct clv_vf_quota, priority)
CLV_SIM_DEFINE_READ_PLAIN(read_type, struct clv_vf_quota, type)
CLV_SIM_DEFINE_READ_PLAIN(read_driver, struct clv_vf_quota, driver)

#define QUOTA(member) offsetof(struct function_entry, quota.member)

static const struct clv_yaml_field function_fields[] = {
	{"number", read_number, true, 0},
	{"memory", clv_sim_read_bytes, false, QUOTA(memory_bytes)},
	{"exec-quantum", clv_sim_read_ms, false, QUOTA(exec_quantum_ms)},
	{"preempt-timeout", clv_sim_read_us, false, QUOTA(preempt_timeout_us)},
	{"contexts", clv_sim_read_positive, false, QUOTA(contexts)},
	{"doorbells", clv_sim_read_positive, false, QUOTA(doorbells)},
	{"priority", read_priority, false, QUOTA(priority)},
	{"type", read_type, false, QUOTA(type)},
	{"driver", read_driver, false, QUOTA(driver)},
};

static int read_function(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_sim_device *device = into;
	struct function_entry entry = {.device = device};
	int r = clv_yaml_read_map(
		value, function_fields, CLV_ARRAY_SIZE(function_fields), &entry, err);

	if (r < 0)
		return r;
	r = clv_sim_vf_quota_check(device, entry.number - 1, &entry.quota, err);
	if (r < 0)
		clv_yaml_prefix_position(value, err);
	else
		device->state.vf[entry.number - 1] = entry.quota;
	return r;
}

static int read_functions(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_function, into, err);
}

/* --- Sets of processors --- */

static int read_set(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_sim_device *device = into;
	cpu_set_t cpus;
	int r;

	if (clv_cpus_parse(clv_yaml_text(value), &cpus) < 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is not a list of processors", clv_yaml_text(value));
	r = clv_sim_cores_add(device, &device->state, &cpus, err);
	if (r < 0)
		clv_yaml_prefix_position(value, err);
	return r;
}

static int read_sets(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_set, into, err);
}

/* --- The state --- */

#define STATE(member) offsetof(struct clv_sim_device, state.member)

static const struct clv_yaml_field state_fields[] = {
	{"mig", clv_sim_read_flag, false, STATE(mig_on)},
	{"mig-pending", clv_sim_read_flag, false, STATE(mig_pending)},
	{"instances", read_instances, false, 0},
	{"compute-mode", read_compute, false, STATE(compute)},
	{"memory-mode", read_memory, false, STATE(memory)},
	{"requested-memory-mode", read_memory, false, STATE(requested_memory)},
	{"vf-count", read_vf_count, false, 0},
	{"vf", read_functions, false, 0},
	{"core-sets", read_sets, false, 0},
	{"calls", clv_sim_read_calls, false, STATE(n_calls)},
};

static bool has_mig(const struct clv_sim_device *device)
{
	return device->mig != NULL;
}

static bool has_xcp(const struct clv_sim_device *device)
{
	return device->xcp != NULL;
}

static bool has_vf(const struct clv_sim_device *device)
{
	return device->vf_total > 0;
}

static bool has_cores(const struct clv_sim_device *device)
{
	return CPU_COUNT(&device->cpus) > 0;
}

static const struct {
	const char *key;
	bool (*may_have)(const struct clv_sim_device *device);
} special_keys[] = {
	{"mig", has_mig},
	{"mig-pending", has_mig},
	{"instances", has_mig},
	{"compute-mode", has_xcp},
	{"memory-mode", has_xcp},
	{"requested-memory-mode", has_xcp},
	{"vf-count", has_vf},
	{"vf", has_vf},
	{"core-sets", has_cores},
};

static int check_keys(struct clv_yaml_value map, const struct clv_sim_device *device,
	struct clv_error *err)
{
	struct clv_yaml_value value;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(special_keys); i++) {
		if (clv_yaml_find(map, special_keys[i].key, &value) &&
			!special_keys[i].may_have(device))
			return clv_yaml_fail(value, err, -EINVAL, "%s cannot have '%s'",
				device->product.name, special_keys[i].key);
	}
	return 0;
}

static int check_modes(const struct clv_sim_device *device, struct clv_error *err)
{
	const struct clv_sim_state *state = &device->state;
	uint32_t wish = state->requested_memory;

	if (wish && !(device->xcp->memory_modes & wish))
		return clv_error_set(err, -EINVAL, "%s has no memory mode %s",
			device->xcp->name,
			clv_memory_mode_to_string((enum clv_memory_mode)wish));
	return clv_xcp_check(
		device->xcp, state->compute, (enum clv_memory_mode)state->memory, err);
}

static int check_whole(struct clv_yaml_value map, const struct clv_sim_device *device,
	struct clv_error *err)
{
	const struct clv_sim_state *state = &device->state;
	int n_ways = state->mig_on + (state->vf_count > 0) + (state->n_sets > 0) +
		     (state->compute != CLV_SPX);
	int r = 0;

	if (n_ways > 1)
		return clv_yaml_fail(
			map, err, -EINVAL, "a device is divided in one way at a time");
	if (state->n_instances > 0 && !state->mig_on)
		return clv_yaml_fail(
			map, err, -EINVAL, "there are instances, but MIG is off");
	if (device->xcp)
		r = check_modes(device, err);
	if (r < 0)
		clv_yaml_prefix_position(map, err);
	return r;
}

int clv_sim_state_read(
	struct clv_yaml_value map, struct clv_sim_device *device, struct clv_error *err)
{
	int r = check_keys(map, device, err);

	if (r == 0)
		r = clv_yaml_read_map(
			map, state_fields, CLV_ARRAY_SIZE(state_fields), device, err);
	if (r < 0)
		return r;
	clv_sim_vf_provision(device, device->state.vf_count);
	return check_whole(map, device, err);
}
