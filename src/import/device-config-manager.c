/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's Device Config Manager: named profiles, each with the GPUs that it skips and sets
 * that assign a pair of modes to a number of the other GPUs, in their order. */
#include "import/internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "core/gpu/gpu.h"
#include "import/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GPUS_MAX 64u

struct profile {
	struct clv_import_job *job;
	bool is_skipped[GPUS_MAX];
	uint32_t n_skipped, last_skipped;
	struct clv_yaml_value skipped;
	struct clv_yaml_value sets;
	uint32_t next, n_assigned;
	uint32_t memory; /* of the first set; 0: none yet */
};

struct set {
	enum clv_compute_mode compute;
	uint32_t memory;
	uint32_t count;
};

/* --- A set of GPUs --- */

static int read_compute(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct set *set = into;

	set->compute = clv_compute_mode_from_string(clv_yaml_text(value));
	if (set->compute == _CLV_COMPUTE_MODE_INVALID)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no compute partition: SPX, DPX, TPX, QPX or CPX",
			clv_yaml_text(value));
	return 0;
}

static int read_memory(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct set *set = into;

	set->memory = clv_memory_mode_from_string(clv_yaml_text(value));
	if (set->memory == 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no memory partition: NPS1, NPS2, NPS4 or NPS8",
			clv_yaml_text(value));
	return 0;
}

static int read_count(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct set *set = into;
	uint64_t count;
	int r = clv_yaml_read_number(value, 1, UINT32_MAX, &count, err);

	if (r >= 0 && count > GPUS_MAX)
		r = clv_yaml_fail(value, err, -ERANGE,
			"%" PRIu64 " GPUs: a node has at most %u, and the sets of a "
			"profile name each GPU once",
			count, GPUS_MAX);
	if (r >= 0)
		set->count = (uint32_t)count;
	return r;
}

static const struct clv_yaml_field set_fields[] = {
	{"computePartition", read_compute, true},
	{"memoryPartition", read_memory, true},
	{"numGPUsAssigned", read_count, true},
};

/* The memory modes that some GPU supports with the compute mode; the file does not say
 * which GPU the node has. */
static uint32_t modes_allowed_with(enum clv_compute_mode compute)
{
	const struct clv_xcp_model *model;
	uint32_t modes = 0;

	for (size_t i = 0; (model = clv_xcp_model_at(i)); i++)
		modes |= clv_xcp_memory_modes(compute, model->dies) & model->memory_modes;
	return modes;
}

static int check_modes(
	const struct set *set, struct clv_yaml_value place, struct clv_error *err)
{
	uint32_t modes = modes_allowed_with(set->compute);
	char known[64] = "";
	size_t used = 0;

	if (modes & set->memory)
		return 0;
	for (uint32_t mode = CLV_NPS1; mode <= CLV_NPS8; mode <<= 1) {
		if ((modes & mode) && used < sizeof(known))
			used += (size_t)snprintf(known + used, sizeof(known) - used,
				"%s%s", used ? ", " : "",
				clv_memory_mode_to_string((enum clv_memory_mode)mode));
	}
	return clv_yaml_fail(place, err, -EINVAL,
		"no GPU accepts %s with %s: %s allows %s",
		clv_compute_mode_to_string(set->compute),
		clv_memory_mode_to_string((enum clv_memory_mode)set->memory),
		clv_compute_mode_to_string(set->compute), known);
}

static int check_memory(struct profile *profile, const struct set *set,
	struct clv_yaml_value place, struct clv_error *err)
{
	if (profile->memory == 0)
		profile->memory = set->memory;
	if (profile->memory == set->memory)
		return 0;
	return clv_yaml_fail(place, err, -EINVAL,
		"%s and %s: all GPUs of a profile must have one memory partition, use "
		"one "
		"of them",
		clv_memory_mode_to_string((enum clv_memory_mode)set->memory),
		clv_memory_mode_to_string((enum clv_memory_mode)profile->memory));
}

/* Assigns the next GPUs that are not skipped. */
static int assign(struct profile *profile, struct clv_layout_rule *rule, uint32_t count,
	struct clv_yaml_value place, struct clv_error *err)
{
	while (count > 0) {
		int r;

		while (profile->next < GPUS_MAX && profile->is_skipped[profile->next])
			profile->next++;
		if (profile->next == GPUS_MAX)
			return clv_yaml_fail(place, err, -ERANGE,
				"cleave supports at most %u GPUs in a node", GPUS_MAX);
		r = clv_import_add_index(rule, profile->next++, place, err);
		if (r < 0)
			return r;
		count--;
	}
	return 0;
}

static int read_set(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct profile *profile = into;
	struct clv_layout_rule *rule;
	struct set set = {0};
	int r = clv_yaml_read_map(
		value, set_fields, CLV_ARRAY_SIZE(set_fields), &set, err);

	if (r >= 0)
		r = check_modes(&set, value, err);
	if (r >= 0)
		r = check_memory(profile, &set, value, err);
	if (r >= 0)
		r = clv_import_add_rule(profile->job, value, "amd", NULL, &rule, err);
	if (r < 0)
		return r;
	rule->has_compute_mode = true;
	rule->compute_mode = set.compute;
	rule->memory_mode = set.memory;
	profile->n_assigned += set.count;
	return assign(profile, rule, set.count, value, err);
}

/* --- A profile --- */

static int read_skipped_id(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct profile *profile = into;
	uint64_t id;
	int r = clv_yaml_read_number(value, 0, GPUS_MAX - 1, &id, err);

	if (r < 0)
		return r;
	if (profile->is_skipped[id])
		return clv_yaml_fail(
			value, err, -EINVAL, "GPU %" PRIu64 " is skipped twice", id);
	profile->is_skipped[id] = true;
	profile->n_skipped++;
	if (id > profile->last_skipped)
		profile->last_skipped = (uint32_t)id;
	return 0;
}

static int read_skipped_ids(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct profile *profile = into;

	if (clv_yaml_kind(value) == CLV_YAML_NULL)
		return 0;
	profile->skipped = value;
	return clv_yaml_read_list(value, read_skipped_id, profile, err);
}

static int read_skipped(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const struct clv_yaml_field fields[] = {
		{"ids", read_skipped_ids, false},
	};

	if (clv_yaml_kind(value) == CLV_YAML_NULL)
		return 0;
	return clv_yaml_read_map(value, fields, CLV_ARRAY_SIZE(fields), into, err);
}

/* Stores the sets for later, because the skipped GPUs must be known first. */
static int note_sets(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct profile *profile = into;

	profile->sets = value;
	if (clv_yaml_kind(value) == CLV_YAML_LIST && clv_yaml_count(value) > 0)
		return 0;
	return clv_yaml_fail(value, err, -EINVAL,
		"a list of sets is expected here, each with computePartition, "
		"memoryPartition and numGPUsAssigned");
}

/* The manager requires every GPU to be either skipped or assigned, so the file implies
 * how many there are. */
static int check_skipped(const struct profile *profile, struct clv_error *err)
{
	uint32_t n = profile->n_assigned + profile->n_skipped;

	if (profile->n_skipped == 0 || profile->last_skipped < n)
		return 0;
	return clv_yaml_fail(profile->skipped, err, -EINVAL,
		"GPU %" PRIu32 " is skipped, and with %" PRIu32 " assigned and %" PRIu32
		" skipped the node's GPUs are 0 to %" PRIu32 ": correct one of them",
		profile->last_skipped, profile->n_assigned, profile->n_skipped, n - 1);
}

static int read_profile(
	struct clv_import_job *job, struct clv_yaml_value value, struct clv_error *err)
{
	static const struct clv_yaml_field fields[] = {
		{"skippedGPUs", read_skipped, false},
		{"profiles", note_sets, true},
	};
	struct profile profile = {.job = job};
	int r = clv_yaml_read_map(value, fields, CLV_ARRAY_SIZE(fields), &profile, err);

	if (r >= 0)
		r = clv_yaml_read_list(profile.sets, read_set, &profile, err);
	return r < 0 ? r : check_skipped(&profile, err);
}

/* --- The file --- */

static int read_profiles(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_import_job *job = into;
	struct clv_yaml_value chosen;
	int r = clv_import_choose_key(
		value, job->options->select, "profile", &chosen, err);

	return r < 0 ? r : read_profile(job, chosen, err);
}

static void list_services(struct clv_yaml_value names, char *text, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < clv_yaml_count(names) && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%.60s",
			i ? ", " : "", clv_yaml_text(clv_yaml_item(names, i)));
}

static int read_services(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_yaml_value names;
	char text[200] = "";

	if (!clv_yaml_find(value, "names", &names) ||
		clv_yaml_kind(names) != CLV_YAML_LIST || clv_yaml_count(names) == 0)
		return 0;
	list_services(names, text, sizeof(text));
	return clv_import_remark(into, names, err,
		"cleave stops no services: stop %s before the layout is applied, which "
		"is refused while they use a GPU",
		text);
}

int clv_import_device_config_manager(
	struct clv_import_job *job, struct clv_yaml_value root, struct clv_error *err)
{
	static const struct clv_yaml_field fields[] = {
		{"gpu-config-profiles", read_profiles, true},
		{"gpuClientSystemdServices", read_services, false},
	};

	return clv_yaml_read_map(root, fields, CLV_ARRAY_SIZE(fields), job, err);
}
