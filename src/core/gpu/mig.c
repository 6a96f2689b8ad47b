/* SPDX-License-Identifier: Apache-2.0 */
/* MIG: lookup of profiles, rules for sets of instances, tables of compute instances. */
#include "core/gpu/mig.h"

#include "base/error.h"
#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const obstacles[_CLV_MIG_OBSTACLE_MAX] = {
	[CLV_MIG_NO_OBSTACLE] = "it fits",
	[CLV_MIG_NO_SUCH_START] = "the profile has no placement there",
	[CLV_MIG_OVERLAPS] = "another instance is there",
	[CLV_MIG_NO_SLICES] = "not enough compute slices are left",
	[CLV_MIG_TOO_MANY] = "the GPU may have no more of this profile",
	[CLV_MIG_MEDIA_TAKEN] = "another instance has the media engines",
};

const char *clv_mig_obstacle_to_string(enum clv_mig_obstacle obstacle)
{
	return obstacles[obstacle];
}

/* Layout of the allocation: the struct, the profiles, the texts. */
struct clv_mig_model *clv_mig_model_copy(const struct clv_mig_model *model)
{
	size_t table = model->n_profiles * sizeof(*model->profiles);
	size_t texts = strlen(model->name) + 1;
	struct clv_mig_profile *profiles;
	struct clv_mig_model *copy;
	char *text;

	for (size_t i = 0; i < model->n_profiles; i++)
		texts += strlen(model->profiles[i].name) + 1;
	copy = malloc(sizeof(*copy) + table + texts);
	if (!copy)
		return NULL;
	profiles = (struct clv_mig_profile *)(copy + 1);
	text = (char *)(profiles + model->n_profiles);
	*copy = *model;
	copy->name = text;
	copy->profiles = profiles;
	text = stpcpy(text, model->name) + 1;
	for (size_t i = 0; i < model->n_profiles; i++) {
		profiles[i] = model->profiles[i];
		profiles[i].name = text;
		text = stpcpy(text, model->profiles[i].name) + 1;
	}
	return copy;
}

void clv_mig_model_free(struct clv_mig_model *model)
{
	free(model);
}

void clv_mig_list_profiles(const struct clv_mig_model *model, char *ret, size_t ret_bytes)
{
	ret[0] = '\0';
	for (size_t i = 0; i < model->n_profiles; i++)
		clv_text_list(ret, ret_bytes, model->profiles[i].name);
}

const struct clv_mig_profile *clv_mig_profile_largest(const struct clv_mig_model *model)
{
	const struct clv_mig_profile *largest = NULL;

	for (size_t i = 0; model && i < model->n_profiles; i++) {
		if (!largest || model->profiles[i].size > largest->size)
			largest = &model->profiles[i];
	}
	return largest;
}

uint64_t clv_mig_profile_memory(const struct clv_mig_model *model,
	const struct clv_mig_profile *profile, uint64_t whole_bytes)
{
	/* A driver may show placements without a size. */
	if (profile->memory_mib || model->grid == 0)
		return (uint64_t)profile->memory_mib << 20;
	return whole_bytes / model->grid * profile->size;
}

int clv_mig_profile_find(
	const struct clv_mig_model *model, const char *name, struct clv_error *err)
{
	char known[256];

	for (size_t i = 0; i < model->n_profiles; i++) {
		if (strcmp(model->profiles[i].name, name) == 0)
			return (int)i;
	}
	clv_mig_list_profiles(model, known, sizeof(known));
	return clv_error_set(err, -EINVAL, "%s has no profile '%.40s': it has %s",
		model->name, name, known);
}

static uint16_t units_of(const struct clv_mig_profile *profile, uint8_t start)
{
	return (uint16_t)(((1u << profile->size) - 1) << start);
}

/* Whether existing instances hold the media engines that the profile needs.  Source: the
 * comments of NVML_GPU_INSTANCE_PROFILE_*_ALL_ME and _NO_ME in nvml.h. */
static bool is_media_taken(
	const struct clv_mig_set *set, const struct clv_mig_profile *profile)
{
	if (profile->attributes & CLV_MIG_NO_ME)
		return false;
	if (profile->attributes & CLV_MIG_ALL_ME)
		return set->n_all_me + set->n_some_me > 0;
	return set->n_all_me > 0 || (profile->attributes & CLV_MIG_ME && set->n_me > 0);
}

static void count_media(
	struct clv_mig_set *set, const struct clv_mig_profile *profile, int one)
{
	bool has_all = profile->attributes & CLV_MIG_ALL_ME;

	set->n_me += (uint8_t)(profile->attributes & CLV_MIG_ME ? one : 0);
	set->n_all_me += (uint8_t)(has_all ? one : 0);
	set->n_some_me +=
		(uint8_t)(has_all || profile->attributes & CLV_MIG_NO_ME ? 0 : one);
}

static bool has_start(const struct clv_mig_profile *profile, uint8_t start)
{
	return memchr(profile->starts, start, profile->n_starts) != NULL;
}

enum clv_mig_obstacle clv_mig_set_add(const struct clv_mig_model *model,
	struct clv_mig_set *set, struct clv_mig_instance instance)
{
	const struct clv_mig_profile *profile = &model->profiles[instance.profile];

	assert(instance.profile < model->n_profiles);
	if (!has_start(profile, instance.start))
		return CLV_MIG_NO_SUCH_START;
	if (set->units & units_of(profile, instance.start))
		return CLV_MIG_OVERLAPS;
	if (set->slices + profile->slices > model->slices)
		return CLV_MIG_NO_SLICES;
	if (set->counts[instance.profile] >= profile->max_instances)
		return CLV_MIG_TOO_MANY;
	if (is_media_taken(set, profile))
		return CLV_MIG_MEDIA_TAKEN;

	clv_mig_set_put(model, set, instance);
	return CLV_MIG_NO_OBSTACLE;
}

void clv_mig_set_put(const struct clv_mig_model *model, struct clv_mig_set *set,
	struct clv_mig_instance instance)
{
	const struct clv_mig_profile *profile = &model->profiles[instance.profile];

	assert(instance.profile < model->n_profiles);
	assert(instance.start + profile->size <= model->grid);
	set->units |= units_of(profile, instance.start);
	set->slices += profile->slices;
	count_media(set, profile, 1);
	set->counts[instance.profile]++;
}

void clv_mig_set_remove(const struct clv_mig_model *model, struct clv_mig_set *set,
	struct clv_mig_instance instance)
{
	const struct clv_mig_profile *profile = &model->profiles[instance.profile];

	assert(instance.profile < model->n_profiles && set->counts[instance.profile] > 0);
	set->units &= (uint16_t)~units_of(profile, instance.start);
	set->slices -= profile->slices;
	count_media(set, profile, -1);
	set->counts[instance.profile]--;
}

unsigned clv_mig_set_count_options(
	const struct clv_mig_model *model, const struct clv_mig_set *set)
{
	unsigned n = 0;

	for (uint8_t p = 0; p < model->n_profiles; p++) {
		for (uint8_t i = 0; i < model->profiles[p].n_starts; i++) {
			struct clv_mig_set with = *set;

			n += clv_mig_set_add(model, &with,
				     (struct clv_mig_instance){
					     p, model->profiles[p].starts[i]}) ==
			     CLV_MIG_NO_OBSTACLE;
		}
	}
	return n;
}

/* Placements of one profile are identical or disjoint, so taking the first free one is
 * optimal. */
unsigned clv_mig_set_capacity(
	const struct clv_mig_model *model, const struct clv_mig_set *set, uint8_t profile)
{
	const struct clv_mig_profile *p = &model->profiles[profile];
	struct clv_mig_set with = *set;
	unsigned n = 0;

	for (uint8_t i = 0; i < p->n_starts; i++)
		n += clv_mig_set_add(model, &with,
			     (struct clv_mig_instance){profile, p->starts[i]}) ==
		     CLV_MIG_NO_OBSTACLE;
	return n;
}

/* Compute instances: a table for each size of GPU instance. */
#define PART(n, max, ...)                                                           \
	{                                                                           \
		.name = #n "c", .slices = (n), .size = (n), .max_instances = (max), \
		.n_starts = sizeof((uint8_t[]){__VA_ARGS__}), .starts = {           \
			__VA_ARGS__                                                 \
		}                                                                   \
	}

static const struct clv_mig_profile parts_of_1[] = {PART(1, 1, 0)};
static const struct clv_mig_profile parts_of_2[] = {PART(1, 2, 0, 1), PART(2, 1, 0)};
static const struct clv_mig_profile parts_of_3[] = {
	PART(1, 3, 0, 1, 2), PART(2, 1, 0), PART(3, 1, 0)};
static const struct clv_mig_profile parts_of_4[] = {
	PART(1, 4, 0, 1, 2, 3), PART(2, 2, 0, 2), PART(4, 1, 0)};
static const struct clv_mig_profile parts_of_7[] = {PART(1, 7, 0, 1, 2, 3, 4, 5, 6),
	PART(2, 3, 0, 2, 4), PART(3, 2, 0, 4), PART(4, 1, 0), PART(7, 1, 0)};

#define PARTS(n)                                                           \
	{                                                                  \
		"a GPU instance of " #n " slices", (n), (n), parts_of_##n, \
			sizeof(parts_of_##n) / sizeof(parts_of_##n[0])     \
	}

static const struct clv_mig_model part_models[] = {
	PARTS(1), PARTS(2), PARTS(3), PARTS(4), PARTS(7)};

const struct clv_mig_model *clv_mig_model_of_parts(unsigned slices)
{
	for (size_t i = 0; i < sizeof(part_models) / sizeof(part_models[0]); i++) {
		if (part_models[i].slices == slices)
			return &part_models[i];
	}
	return NULL;
}
