/* SPDX-License-Identifier: Apache-2.0 */
#include "plan-apply.h"

#include "base/array.h"
#include "core/device/vgpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SET(to, from) snprintf((to), sizeof(to), "%s", (from))
#define BIT(n) (UINT64_C(1) << (n))

static struct clv_partition *find(struct clv_node_device *device, const char *name)
{
	for (size_t i = 0; i < device->n_partitions; i++) {
		if (strcmp(device->partitions[i].name, name) == 0)
			return &device->partitions[i];
	}
	return NULL;
}

static bool is_device_held(const struct clv_node_device *device)
{
	for (size_t i = 0; i < device->n_partitions; i++) {
		if (clv_partition_is_held(&device->partitions[i]))
			return true;
	}
	for (size_t i = 0; i < device->vf.n; i++) {
		if (device->vf.items[i].holders.n > 0)
			return true;
	}
	return device->holders.n > 0;
}

static void free_partition(struct clv_partition *partition)
{
	for (size_t i = 0; i < partition->n_parts; i++)
		free(partition->parts[i].holders.items);
	free(partition->parts);
	free(partition->holders.items);
}

static void drop_partitions(struct clv_node_device *device)
{
	for (size_t i = 0; i < device->n_partitions; i++)
		free_partition(&device->partitions[i]);
	free(device->partitions);
	device->partitions = NULL;
	device->n_partitions = 0;
}

static struct clv_partition *add(struct clv_node_device *device, const char *profile,
	uint32_t start, uint32_t size)
{
	struct clv_partition *partition = clv_node_add_partition(device);

	if (!partition)
		abort();
	SET(partition->profile, profile);
	partition->start = start;
	partition->size = size;
	clv_node_name_partitions(device);
	return partition;
}

static void remove_partition(
	struct clv_node_device *device, struct clv_partition *partition)
{
	struct clv_partition *left = NULL;
	size_t n = 0;

	/* The array grows from its count, so it is allocated again. */
	for (size_t i = 0; i < device->n_partitions; i++) {
		struct clv_partition *slot;

		if (&device->partitions[i] == partition) {
			free_partition(partition);
			continue;
		}
		slot = CLV_APPEND(left, n);
		if (!slot)
			abort();
		*slot = device->partitions[i];
	}
	free(device->partitions);
	device->partitions = left;
	device->n_partitions = n;
}

/* --- MIG --- */

static const struct clv_mig_profile *profile_of(
	const struct clv_node_device *device, const char *name, uint8_t *ret_index)
{
	int index = clv_mig_profile_find(device->mig.model, name, NULL);

	if (index < 0)
		return NULL;
	*ret_index = (uint8_t)index;
	return &device->mig.model->profiles[index];
}

static const struct clv_mig_model *parts_of(
	const struct clv_node_device *device, const char *profile)
{
	uint8_t index;
	const struct clv_mig_profile *found = profile_of(device, profile, &index);

	return found ? clv_mig_model_of_parts(found->slices) : NULL;
}

static bool fits(const struct clv_node_device *device, uint8_t index, uint32_t start)
{
	struct clv_mig_set set = {0};
	uint8_t other;

	for (size_t i = 0; i < device->n_partitions; i++) {
		const struct clv_partition *partition = &device->partitions[i];

		if (!profile_of(device, partition->profile, &other) ||
			clv_mig_set_add(device->mig.model, &set,
				(struct clv_mig_instance){
					other, (uint8_t)partition->start}) !=
				CLV_MIG_NO_OBSTACLE)
			return false;
	}
	return clv_mig_set_add(device->mig.model, &set,
		       (struct clv_mig_instance){index, (uint8_t)start}) ==
	       CLV_MIG_NO_OBSTACLE;
}

static const char *create_instance(
	struct clv_node_device *device, const struct clv_step *step)
{
	uint8_t index = 0;
	const struct clv_mig_profile *profile = profile_of(device, step->profile, &index);

	if (!device->mig.is_on)
		return "an instance is made while MIG is off";
	if (!profile || step->size != profile->size)
		return "an instance of another size than its profile's";
	if (!fits(device, index, step->start))
		return "an instance is made where there is no room";
	add(device, step->profile, step->start, step->size)->is_incomplete =
		step->has_parts;
	return NULL;
}

static bool is_filled(const struct clv_node_device *device,
	const struct clv_partition *partition, uint32_t size)
{
	const struct clv_mig_model *model = parts_of(device, partition->profile);

	return model && model->slices == size;
}

static bool add_part_to(const struct clv_mig_model *model, struct clv_mig_set *set,
	uint32_t size, uint32_t start)
{
	char name[16];
	int index;

	snprintf(name, sizeof(name), "%uc", size);
	index = clv_mig_profile_find(model, name, NULL);
	return index >= 0 && clv_mig_set_add(model, set,
				     (struct clv_mig_instance){(uint8_t)index,
					     (uint8_t)start}) == CLV_MIG_NO_OBSTACLE;
}

static bool part_fits(const struct clv_mig_model *model,
	const struct clv_partition *partition, const struct clv_step *step)
{
	struct clv_mig_set set = {0};

	for (size_t i = 0; i < partition->n_parts; i++) {
		if (!add_part_to(model, &set, partition->parts[i].size,
			    partition->parts[i].start))
			return false;
	}
	return add_part_to(model, &set, step->size, step->start);
}

static const char *create_part(
	struct clv_node_device *device, const struct clv_step *step)
{
	struct clv_partition *partition = find(device, step->inside), *part;
	const struct clv_mig_model *model;

	if (!partition)
		return "a part is made in an instance that is not there";
	model = parts_of(device, partition->profile);
	if (!model || (partition->n_parts == 0 && !partition->is_incomplete) ||
		!part_fits(model, partition, step))
		return "a part is made where there is no room";
	partition->is_incomplete = false;
	if (is_filled(device, partition, step->size))
		return NULL;
	part = clv_node_add_part(partition);
	if (!part)
		abort();
	part->start = step->start;
	part->size = step->size;
	SET(part->profile, step->profile);
	clv_node_name_partitions(device);
	return strcmp(part->name, step->partition) == 0
		       ? NULL
		       : "a part gets another name than in the plan";
}

static const char *destroy_part(
	struct clv_node_device *device, const struct clv_step *step)
{
	struct clv_partition *partition = find(device, step->inside);
	struct clv_partition *parts = NULL;
	size_t n = 0, n_before;

	if (!partition || partition->is_incomplete)
		return "a part is destroyed that is not there";
	if (partition->holders.n > 0)
		return "a part is destroyed in an instance that is in use";
	if (partition->n_parts == 0) {
		partition->is_incomplete = is_filled(device, partition, step->size);
		return partition->is_incomplete ? NULL : "a part of another size";
	}
	n_before = partition->n_parts;
	for (size_t i = 0; i < n_before; i++) {
		struct clv_partition *part = &partition->parts[i], *slot;

		if (part->start == step->start && part->size == step->size) {
			if (part->holders.n > 0)
				return "a part is destroyed that is in use";
			continue;
		}
		slot = CLV_APPEND(parts, n);
		if (!slot)
			abort();
		*slot = *part;
	}
	free(partition->parts);
	partition->parts = parts;
	partition->n_parts = n;
	partition->is_incomplete = n == 0;
	return n + 1 == n_before ? NULL : "a part is destroyed that is not there";
}

static const char *set_mig(struct clv_node_device *device, const struct clv_step *step)
{
	bool is_on = step->value != 0;

	if (device->mig.is_on == is_on) {
		device->mig.is_pending = false;
		return NULL;
	}
	if (is_device_held(device))
		return "the mode changes on a GPU that is in use";
	if (!(step->needs & CLV_NEEDS_IDLE) ||
		!(step->needs & CLV_NEEDS_RESET) != !device->mig.needs_reset)
		return "the step does not name its requirements";
	if (device->n_partitions > 0)
		return "the mode changes on a GPU with instances";
	device->mig.is_on = is_on;
	device->mig.is_pending = false;
	device->scheme = is_on ? CLV_SCHEME_MIG : CLV_SCHEME_NONE;
	return NULL;
}

/* --- AMD --- */

static void show_accelerators(struct clv_node_device *device)
{
	struct clv_xcp_state *xcp = &device->xcp;
	char profile[CLV_PROFILE_NAME_MAX];
	unsigned n = clv_xcp_devices(xcp->compute, xcp->dies);

	drop_partitions(device);
	device->scheme = xcp->compute == CLV_SPX ? CLV_SCHEME_NONE : CLV_SCHEME_XCP;
	snprintf(profile, sizeof(profile), "%s/%s",
		clv_compute_mode_to_string(xcp->compute),
		clv_memory_mode_to_string((enum clv_memory_mode)xcp->memory));
	for (uint32_t i = 0; i < n && xcp->compute != CLV_SPX; i++)
		add(device, profile, i, 1);
}

static const char *set_compute(
	struct clv_node_device *device, const struct clv_step *step)
{
	struct clv_xcp_state *xcp = &device->xcp;
	enum clv_compute_mode mode = (enum clv_compute_mode)step->value;

	if (is_device_held(device))
		return "a compute mode changes on a GPU that is in use";
	if (!(clv_xcp_memory_modes(mode, xcp->dies) & xcp->memory))
		return "a compute mode that does not go with the memory mode";
	xcp->compute = mode;
	show_accelerators(device);
	return NULL;
}

/* The driver keeps the last mode requested through the hive. */
static const char *ask_memory(struct clv_node *node, struct clv_node_device *device,
	const struct clv_step *step)
{
	if (!(device->xcp.memory_available & step->value))
		return "a memory mode that the driver does not offer";
	if (device->xcp.memory == step->value)
		return "a memory mode is asked for that is there";
	for (size_t i = 0; i < node->n_devices; i++) {
		struct clv_node_device *other = &node->devices[i];

		if (other == device || (device->hive[0] != '\0' &&
					       strcmp(device->hive, other->hive) == 0))
			other->xcp.requested_memory = step->value;
	}
	return NULL;
}

/* A change is safe from SPX if the device has it, else from a mode that both memory modes
 * allow, if there is one. */
static bool is_safe_to_change(const struct clv_xcp_state *xcp)
{
	uint32_t now = xcp->memory, then = xcp->requested_memory;

	if (then == 0 || then == now || xcp->compute == CLV_SPX)
		return true;
	if (now == CLV_NPS1)
		return false;
	if (clv_xcp_memory_modes(xcp->compute, xcp->dies) & then)
		return true;
	for (int mode = 0; mode < _CLV_COMPUTE_MODE_MAX; mode++) {
		uint32_t beside =
			clv_xcp_memory_modes((enum clv_compute_mode)mode, xcp->dies);

		if (beside & now && beside & then)
			return false;
	}
	return true;
}

/* The mode in which the driver starts. */
static enum clv_compute_mode first_mode(const struct clv_xcp_state *xcp)
{
	unsigned parts = clv_memory_mode_parts((enum clv_memory_mode)xcp->memory);

	if (parts == 1)
		return CLV_SPX;
	return parts == 2 ? CLV_DPX : CLV_CPX;
}

static const char *reload(struct clv_node *node, struct clv_node_device *device,
	const struct clv_step *step)
{
	for (size_t i = 0; i < node->n_devices; i++) {
		struct clv_node_device *other = &node->devices[i];
		bool is_affected = step->affected && step->affected[i / 64] & BIT(i % 64);

		if (is_affected !=
			(strcmp(other->info.vendor, device->info.vendor) == 0 &&
				strcmp(other->info.type, "cpu") != 0))
			return "a reload affects the devices of its driver and no others";
		if (!is_affected)
			continue;
		if (is_device_held(other))
			return "the driver of a device that is in use is reloaded";
		if (!other->xcp.is_capable)
			continue;
		if (!is_safe_to_change(&other->xcp))
			return "a memory mode changes from a compute mode where another "
			       "was "
			       "possible";
		if (other->xcp.requested_memory != 0)
			other->xcp.memory = other->xcp.requested_memory;
		other->xcp.requested_memory = 0;
		other->xcp.compute = first_mode(&other->xcp);
		show_accelerators(other);
	}
	return NULL;
}

/* --- Virtual functions --- */

static const char *set_count(struct clv_node_device *device, const struct clv_step *step)
{
	struct clv_vf_state *vf = &device->vf;
	char profile[16];

	if (vf->n > 0 && step->value > 0)
		return "the number of functions changes from one to another";
	for (size_t i = 0; i < vf->n; i++) {
		if (vf->items[i].holders.n > 0)
			return "the number of functions changes while one is in use";
		if (vf->items[i].quota.type[0] != '\0')
			return "the number of functions changes while one is a vGPU";
	}
	if (step->value > vf->total || (step->value > 0 && vf->counts != 0 &&
					       !(vf->counts & BIT(step->value - 1))))
		return "a number of functions that the device does not take";
	free(vf->items);
	vf->items = NULL;
	vf->n = 0;
	drop_partitions(device);
	device->scheme = step->value > 0 ? CLV_SCHEME_VF : CLV_SCHEME_NONE;
	snprintf(profile, sizeof(profile), "vf:%u", step->value);
	for (uint32_t i = 1; i <= step->value; i++) {
		struct clv_vf *item = CLV_APPEND(vf->items, vf->n);

		if (!item)
			abort();
		item->number = i;
		add(device, profile, i, 1);
	}
	return NULL;
}

/* Memory is rounded up, as drivers do. */
static uint64_t round_up(uint64_t bytes)
{
	return (bytes + (1u << 21) - 1) & ~(uint64_t)((1u << 21) - 1);
}

static const char *set_quota(struct clv_node_device *device, const struct clv_step *step)
{
	const struct clv_vf_quota *wanted = &step->quota;
	struct clv_vf_quota *quota;

	if (step->value < 1 || step->value > device->vf.n)
		return "the quota of a function that is not there";
	if (device->vf.items[step->value - 1].holders.n > 0)
		return "the quota of a function changes that is in use";
	quota = &device->vf.items[step->value - 1].quota;
	if (wanted->memory_bytes > 0)
		quota->memory_bytes = round_up(wanted->memory_bytes);
	if (wanted->exec_quantum_ms > 0)
		quota->exec_quantum_ms = wanted->exec_quantum_ms;
	if (wanted->preempt_timeout_us > 0)
		quota->preempt_timeout_us = wanted->preempt_timeout_us;
	if (wanted->contexts > 0)
		quota->contexts = wanted->contexts;
	if (wanted->doorbells > 0)
		quota->doorbells = wanted->doorbells;
	if (wanted->priority[0] != '\0')
		SET(quota->priority, wanted->priority);
	if (strcmp(wanted->type, CLV_VGPU_NONE) == 0)
		quota->type[0] = '\0';
	else if (wanted->type[0] != '\0' && quota->type[0] != '\0' &&
		 !clv_vgpu_is_type(quota->type, wanted->type))
		return "a vGPU gets another type before it is taken away";
	else if (wanted->type[0] != '\0')
		SET(quota->type, wanted->type);
	if (wanted->driver[0] != '\0')
		SET(device->vf.items[step->value - 1].driver, wanted->driver);
	return NULL;
}

/* --- Processors --- */

/* Parses "0-1,4" into marks of numbers below 1024; false if one is marked already. */
static bool mark(const char *list, bool *marks)
{
	const char *at = list;

	while (*at) {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (unsigned long i = first; i <= last; i++) {
			if (i >= 1024 || marks[i])
				return false;
			marks[i] = true;
		}
		if (end == at || (*end != ',' && *end != '\0'))
			return false;
		at = *end == ',' ? end + 1 : end;
	}
	return true;
}

static bool is_there(const struct clv_cores_state *cores, uint32_t number)
{
	for (uint32_t i = 0; i < cores->total; i++) {
		if (cores->ids[i] == number)
			return true;
	}
	return false;
}

static const char *create_set(struct clv_node_device *device, const struct clv_step *step)
{
	bool taken[1024] = {false}, own[1024] = {false};
	uint32_t n = 0, lowest = UINT32_MAX;
	struct clv_partition *partition;

	for (size_t i = 0; i < device->n_partitions; i++)
		mark(device->partitions[i].address, taken);
	if (!mark(step->cpus, taken) || !mark(step->cpus, own))
		return "a set has processors that others have";
	for (uint32_t i = 0; i < 1024; i++) {
		if (own[i] && !is_there(&device->cores, i))
			return "a set has processors that the device lacks";
		if (own[i] && lowest == UINT32_MAX)
			lowest = i;
		n += own[i];
	}
	if (n != step->size || lowest != step->start)
		return "a set lacks processors of its name";
	partition = add(device, step->profile, step->start, step->size);
	SET(partition->address, step->cpus);
	device->scheme = CLV_SCHEME_CORES;
	return NULL;
}

/* --- A device as a whole --- */

static bool parts_fit(
	const struct clv_node_device *device, const struct clv_partition *partition)
{
	const struct clv_mig_model *model = parts_of(device, partition->profile);
	struct clv_mig_set set = {0};

	for (size_t i = 0; i < partition->n_parts; i++) {
		if (!model || !add_part_to(model, &set, partition->parts[i].size,
				      partition->parts[i].start))
			return false;
	}
	/* A part that fills its instance is not listed. */
	return partition->n_parts != 1 || partition->parts[0].size != model->slices;
}

static bool instances_fit(const struct clv_node_device *device)
{
	struct clv_mig_set set = {0};
	uint8_t index;

	for (size_t i = 0; i < device->n_partitions; i++) {
		const struct clv_partition *partition = &device->partitions[i];

		if (!device->mig.model ||
			!profile_of(device, partition->profile, &index) ||
			clv_mig_set_add(device->mig.model, &set,
				(struct clv_mig_instance){
					index, (uint8_t)partition->start}) !=
				CLV_MIG_NO_OBSTACLE ||
			!parts_fit(device, partition))
			return false;
	}
	return true;
}

static bool sets_fit(const struct clv_node_device *device)
{
	bool taken[1024] = {false};

	for (size_t i = 0; i < device->n_partitions; i++) {
		if (!mark(device->partitions[i].address, taken))
			return false;
	}
	for (uint32_t i = 0; i < 1024; i++) {
		if (taken[i] && !is_there(&device->cores, i))
			return false;
	}
	return true;
}

bool plan_fits(const struct clv_node_device *device)
{
	return device->mig.is_on ? instances_fit(device) : sets_fit(device);
}

/* --- Steps --- */

static const char *destroy(struct clv_node_device *device, const struct clv_step *step)
{
	struct clv_partition *partition = find(device, step->partition);

	if (!partition)
		return "a partition is destroyed that is not there";
	if (clv_partition_is_held(partition))
		return "a partition is destroyed that is in use";
	remove_partition(device, partition);
	if (device->n_partitions == 0 && device->cores.is_capable)
		device->scheme = CLV_SCHEME_NONE;
	return NULL;
}

const char *plan_apply(struct clv_node *node, const struct clv_step *step)
{
	struct clv_node_device *device = &node->devices[step->device];

	switch (step->kind) {
	case CLV_STEP_DESTROY_PART:
		return destroy_part(device, step);
	case CLV_STEP_DESTROY:
		return destroy(device, step);
	case CLV_STEP_MIG_MODE:
		return set_mig(device, step);
	case CLV_STEP_COMPUTE_MODE:
		return set_compute(device, step);
	case CLV_STEP_MEMORY_MODE:
		return ask_memory(node, device, step);
	case CLV_STEP_RELOAD:
		return reload(node, device, step);
	case CLV_STEP_VF_COUNT:
		return set_count(device, step);
	case CLV_STEP_VF_QUOTA:
		return set_quota(device, step);
	case CLV_STEP_CREATE:
		return strncmp(step->profile, "cores:", 6) == 0
			       ? create_set(device, step)
			       : create_instance(device, step);
	case CLV_STEP_CREATE_PART:
		return create_part(device, step);
	default:
		return "a step of no kind";
	}
}

const char *plan_apply_all(struct clv_node *node, const struct clv_plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct clv_step *step = &plan->steps[i];
		const struct clv_node_device *device = &node->devices[step->device];
		const char *wrong;

		/* A memory request applies to the whole hive, and a reload also sets
		 * modes. */
		if (step->kind != CLV_STEP_COMPUTE_MODE &&
			step->kind != CLV_STEP_MEMORY_MODE &&
			clv_step_is_done(step, device))
			return "a step is done before it was carried out";
		wrong = plan_apply(node, step);
		if (wrong)
			return wrong;
		if (!clv_step_is_done(step, device))
			return "a step is not done after it was carried out";
	}
	return NULL;
}
