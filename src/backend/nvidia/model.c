/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the MIG model of a GPU from its driver.  Profiles are queried by index, with the
 * newest version of the struct that the driver knows (names exist since R510).  Values
 * that a driver does not report (most of them while MIG is off, before R470) come from
 * the tables of core, by profile id, which is the same with every driver. */
#include "backend/nvidia/model.h"

#include "backend/nvidia/error.h"
#include "backend/nvidia/gpu-types.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "core/device/node.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Queried indexes, with room for profiles that are newer than the table. */
#define INDEXES 32u
#define PLACES_MAX 32u
#define UNITS_MAX 16u /* bits of clv_mig_set.units */

/* A profile, independent of the version of NVML's struct. */
struct answer {
	uint32_t id;
	uint32_t slices;
	uint32_t instances;
	uint32_t multiprocessors;
	uint32_t engines[5]; /* in NVML's order */
	uint64_t memory_mib;
	char name[CLV_NVML_NAME_BYTES]; /* "" if the driver reports no name */
};

struct reading {
	const struct clv_nvidia_library *nvml;
	struct clv_nvml_device *gpu;
	const struct clv_node_device *device;
	const struct clv_mig_model *table; /* or NULL */
	struct clv_mig_profile profiles[CLV_MIG_PROFILES_MAX];
	char names[CLV_MIG_PROFILES_MAX][CLV_PROFILE_NAME_MAX];
	size_t n;
};

#define COPY_ANSWER(info)                                                            \
	((struct answer){.id = (info).id,                                            \
		.slices = (info).slices,                                             \
		.instances = (info).instances,                                       \
		.multiprocessors = (info).multiprocessors,                           \
		.engines = {(info).engines[0], (info).engines[1], (info).engines[2], \
			(info).engines[3], (info).engines[4]},                       \
		.memory_mib = (info).memory_mib})

static int ask_v3(const struct reading *reading, uint32_t index, struct answer *ret)
{
	struct clv_nvml_gpu_profile_v3 info = {.version = CLV_NVML_GPU_PROFILE_V3};
	int code = CLV_NVML_FUNCTION_NOT_FOUND;

	if (reading->nvml->get_gpu_profile_versioned)
		code = reading->nvml->get_gpu_profile_versioned(
			reading->gpu, index, &info);
	*ret = COPY_ANSWER(info);
	memcpy(ret->name, info.name, sizeof(ret->name) - 1);
	return code;
}

static int ask_v2(const struct reading *reading, uint32_t index, struct answer *ret)
{
	struct clv_nvml_gpu_profile_v2 info = {.version = CLV_NVML_GPU_PROFILE_V2};
	int code = CLV_NVML_FUNCTION_NOT_FOUND;

	if (reading->nvml->get_gpu_profile_versioned)
		code = reading->nvml->get_gpu_profile_versioned(
			reading->gpu, index, &info);
	*ret = COPY_ANSWER(info);
	memcpy(ret->name, info.name, sizeof(ret->name) - 1);
	return code;
}

static int ask_v1(const struct reading *reading, uint32_t index, struct answer *ret)
{
	struct clv_nvml_gpu_profile_v1 info = {0};
	int code = reading->nvml->get_gpu_profile(reading->gpu, index, &info);

	*ret = COPY_ANSWER(info);
	return code;
}

static bool is_version_unknown(int code)
{
	return code == CLV_NVML_ARGUMENT_VERSION_MISMATCH ||
	       code == CLV_NVML_INVALID_ARGUMENT || code == CLV_NVML_FUNCTION_NOT_FOUND;
}

/* A driver returns the same code for an unknown version of the struct and for an unknown
 * index, so only the answer for the oldest version tells that there is no profile. */
static int ask(const struct reading *reading, uint32_t index, struct answer *ret)
{
	int code = ask_v3(reading, index, ret);

	if (is_version_unknown(code))
		code = ask_v2(reading, index, ret);
	if (is_version_unknown(code))
		code = ask_v1(reading, index, ret);
	return code == CLV_NVML_SUCCESS && ret->slices == 0 ? CLV_NVML_NO_DATA : code;
}

static const struct clv_mig_profile *find_in_table(
	const struct clv_mig_model *table, uint32_t id)
{
	for (size_t i = 0; table && i < table->n_profiles; i++) {
		if (table->profiles[i].driver_id == id)
			return &table->profiles[i];
	}
	return NULL;
}

/* The gigabytes in a profile's name, as NVIDIA's go-nvlib computes them: the profile's
 * memory in eighths of the GPU's memory, rounded up, times the GPU's gigabytes.  The
 * formula holds for every profile of the tables. */
static uint64_t name_gigabytes(const struct reading *reading, uint64_t memory_mib)
{
	uint64_t whole_mib = reading->device->info.memory_bytes >> 20;
	uint64_t whole_gib = (whole_mib + 1023) / 1024;
	uint64_t eighths;

	if (whole_mib == 0)
		return (memory_mib + 1023) / 1024;
	eighths = (memory_mib * 8 + whole_mib - 1) / whole_mib;
	return (eighths * whole_gib + 4) / 8;
}

static void make_name(const struct reading *reading, uint32_t index,
	const struct answer *answer, const struct clv_mig_profile *known, char *ret)
{
	const char *name = answer->name;

	if (strncmp(name, "MIG ", 4) == 0)
		name += 4;
	if (name[0] == '\0' && known)
		name = known->name;
	if (name[0] != '\0')
		snprintf(ret, CLV_PROFILE_NAME_MAX, "%s", name);
	else
		snprintf(ret, CLV_PROFILE_NAME_MAX, "%ug.%llugb%s", answer->slices,
			(unsigned long long)name_gigabytes(reading, answer->memory_mib),
			clv_nvidia_type_suffix(index));
}

static bool is_possible(const struct clv_nvml_placement *places, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (places[i].size == 0 || places[i].size != places[0].size ||
			places[i].size > UNITS_MAX ||
			places[i].start > UNITS_MAX - places[i].size)
			return false;
	}
	return n <= CLV_MIG_STARTS_MAX;
}

/* Returns NVML's code.  A profile may have no starts: then it cannot be created. */
static int ask_places(
	const struct reading *reading, uint32_t id, struct clv_mig_profile *profile)
{
	struct clv_nvml_placement places[PLACES_MAX] = {{0}};
	uint32_t n = UINT32_MAX;
	int code;

	if (!reading->nvml->list_places)
		return CLV_NVML_FUNCTION_NOT_FOUND;
	code = reading->nvml->list_places(reading->gpu, id, NULL, &n);
	if (code == CLV_NVML_SUCCESS && n > PLACES_MAX)
		code = CLV_NVML_INSUFFICIENT_SIZE;
	if (code == CLV_NVML_SUCCESS && n > 0)
		code = reading->nvml->list_places(reading->gpu, id, places, &n);
	if (code != CLV_NVML_SUCCESS)
		return code;
	if (n > PLACES_MAX || !is_possible(places, n))
		return CLV_NVML_INSUFFICIENT_SIZE;

	for (uint32_t i = 0; i < n; i++)
		profile->starts[i] = (uint8_t)places[i].start;
	profile->n_starts = (uint8_t)n;
	profile->size = (uint8_t)places[0].size;
	return CLV_NVML_SUCCESS;
}

static int find_places(const struct reading *reading, const char *name,
	const struct clv_mig_profile *known, struct clv_mig_profile *profile,
	struct clv_error *err)
{
	int code = ask_places(reading, profile->driver_id, profile);

	if (code == CLV_NVML_SUCCESS)
		return 0;
	if (!known)
		return clv_nvidia_error(reading->nvml, code, err,
			"the placements of %s are not known", name);
	memcpy(profile->starts, known->starts, sizeof(profile->starts));
	profile->n_starts = known->n_starts;
	profile->size = known->size;
	return 0;
}

static uint8_t clip(uint32_t number)
{
	return number < UINT8_MAX ? (uint8_t)number : UINT8_MAX;
}

/* NVML's order: copy, decoder, encoder, JPEG, optical flow. */
static struct clv_engines engines_of(const struct answer *answer)
{
	return (struct clv_engines){
		.copy = clip(answer->engines[0]),
		.decode = clip(answer->engines[1]),
		.encode = clip(answer->engines[2]),
		.jpeg = clip(answer->engines[3]),
		.optical_flow = clip(answer->engines[4]),
	};
}

static int add_profile(struct reading *reading, uint32_t index,
	const struct answer *answer, struct clv_error *err)
{
	const struct clv_mig_profile *known = find_in_table(reading->table, answer->id);
	struct clv_mig_profile *profile = &reading->profiles[reading->n];
	char *name = reading->names[reading->n];
	int r;

	make_name(reading, index, answer, known, name);
	*profile = (struct clv_mig_profile){
		.name = name,
		.driver_id = answer->id,
		.memory_mib = (uint32_t)answer->memory_mib,
		.attributes = clv_nvidia_type_attributes(name),
		.multiprocessors = (uint16_t)answer->multiprocessors,
		.nvml_index = (uint8_t)index,
		.slices = clip(answer->slices),
		.max_instances = clip(answer->instances),
		.engines = engines_of(answer),
	};
	r = find_places(reading, name, known, profile, err);
	if (r == 0 && profile->n_starts > 0)
		reading->n++;
	return r;
}

static bool is_listed(const struct reading *reading, uint32_t id)
{
	for (size_t i = 0; i < reading->n; i++) {
		if (reading->profiles[i].driver_id == id)
			return true;
	}
	return false;
}

static int ask_all(struct reading *reading, struct clv_error *err)
{
	for (uint32_t i = 0; i < INDEXES; i++) {
		struct answer answer;
		int code = ask(reading, i, &answer), r;

		if (code == CLV_NVML_NOT_SUPPORTED || code == CLV_NVML_INVALID_ARGUMENT)
			continue;
		if (code != CLV_NVML_SUCCESS)
			return clv_nvidia_error(
				reading->nvml, code, err, "cannot read the MIG profiles");
		if (is_listed(reading, answer.id))
			continue;
		if (reading->n == CLV_MIG_PROFILES_MAX)
			return clv_error_set(err, -EIO,
				"the GPU has more MIG profiles than cleave supports: "
				"update cleave");
		r = add_profile(reading, i, &answer, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Small profiles before large ones, plain before special ones, as in nvidia-smi. */
static int by_size(const void *a, const void *b)
{
	const struct clv_mig_profile *one = a, *other = b;

	if (one->slices != other->slices)
		return one->slices - other->slices;
	if (one->size != other->size)
		return one->size - other->size;
	return one->nvml_index - other->nvml_index;
}

static struct clv_mig_model *make_model(struct reading *reading)
{
	struct clv_mig_model model = {
		.name = reading->table ? reading->table->name
				       : reading->device->info.model,
		.profiles = reading->profiles,
		.n_profiles = reading->n,
	};

	qsort(reading->profiles, reading->n, sizeof(reading->profiles[0]), by_size);
	for (size_t i = 0; i < reading->n; i++) {
		const struct clv_mig_profile *p = &reading->profiles[i];

		for (uint8_t s = 0; s < p->n_starts; s++) {
			if (p->starts[s] + p->size > model.grid)
				model.grid = (uint8_t)(p->starts[s] + p->size);
		}
		if (p->slices > model.slices)
			model.slices = p->slices;
	}
	return clv_mig_model_copy(&model);
}

int clv_nvidia_model_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, const struct clv_node_device *device,
	struct clv_mig_model **ret, struct clv_error *err)
{
	const struct clv_device *info = &device->info;
	struct reading reading = {
		.nvml = nvml,
		.gpu = gpu,
		.device = device,
		.table = clv_nvidia_type_find(info->model, info->memory_bytes),
	};
	struct clv_error why = {0};
	struct clv_mig_model *model;
	int r = ask_all(&reading, &why);

	if (r == 0 && reading.n == 0)
		r = clv_error_set(
			&why, -ENOTSUP, "the driver shows no MIG profile: update it");
	if (r == 0) {
		model = make_model(&reading);
	} else if (reading.table && (r == -EPERM || r == -ENOTSUP)) {
		model = clv_mig_model_copy(reading.table);
	} else {
		if (err)
			*err = why;
		return r;
	}
	if (!model)
		return clv_error_errno(err, ENOMEM, "cannot copy the MIG profiles");
	*ret = model;
	return 0;
}
