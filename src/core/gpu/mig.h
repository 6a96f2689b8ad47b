/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* The rules of NVIDIA's Multi-Instance GPU: which GPU instances a GPU may have, and
 * where.  Pure.  Positions are in units of the GPU's placement grid (4, 8 or 12 units),
 * slices are compute slices.  Sources: NVIDIA's MIG user guide;
 * nvmlGpuInstancePlacement_t for the grid. */

#define CLV_MIG_PROFILES_MAX 18 /* NVML_GPU_INSTANCE_PROFILE_COUNT of driver r580 */
#define CLV_MIG_STARTS_MAX 12
#define CLV_MIG_INSTANCES_MAX 16

/* Attributes of a profile, with the suffix of its name. */
enum clv_mig_attribute {
	CLV_MIG_ME = 1 << 0,     /* "+me": the media engines */
	CLV_MIG_GFX = 1 << 1,    /* "+gfx" */
	CLV_MIG_ALL_ME = 1 << 2, /* "+me.all": every media engine */
	CLV_MIG_NO_ME = 1 << 3,  /* "-me" */
};

/* Number of engines of each kind; CLV_ENGINES_UNKNOWN if only the driver knows it. */
struct clv_engines {
	uint8_t copy;
	uint8_t decode;
	uint8_t encode;
	uint8_t jpeg;
	uint8_t optical_flow;
};

#define CLV_ENGINES_UNKNOWN UINT8_MAX

#define CLV_MIG_ID_UNKNOWN UINT32_MAX

struct clv_mig_profile {
	const char *name;
	/* nvmlGpuInstanceProfileInfo_t.id, nvidia-smi's ID; or CLV_MIG_ID_UNKNOWN */
	uint32_t driver_id;
	/* 0: only the driver knows it; the size in the name is not exact */
	uint32_t memory_mib;
	uint32_t attributes;      /* mask of enum clv_mig_attribute */
	uint16_t multiprocessors; /* 0: only the driver knows it */
	uint8_t nvml_index;       /* NVML_GPU_INSTANCE_PROFILE_* */
	uint8_t slices;           /* compute slices */
	uint8_t size;             /* in units of the grid */
	uint8_t max_instances;
	uint8_t n_starts;
	uint8_t starts[CLV_MIG_STARTS_MAX];
	struct clv_engines engines; /* shared by its compute instances */
};

struct clv_mig_model {
	const char *name; /* "A100-40GB" */
	uint8_t grid;     /* number of units of the placement grid */
	uint8_t slices;   /* of all instances together */
	const struct clv_mig_profile *profiles;
	size_t n_profiles;
};

/* The same rules for compute instances in a GPU instance of that many slices: a model
 * whose profiles are compute instances ("1c" and so on) and whose units are compute
 * slices.  NULL if there is no such GPU instance.  Source: nvidia-smi mig -lcipp of A100
 * and H100. */
const struct clv_mig_model *clv_mig_model_of_parts(unsigned slices);

/* Deep copy of a model that a driver describes, in one allocation; clv_mig_model_free()
 * frees it.  NULL if out of memory. */
struct clv_mig_model *clv_mig_model_copy(const struct clv_mig_model *model);
void clv_mig_model_free(struct clv_mig_model *model);

/* The profile with the most units; NULL if there is none. */
const struct clv_mig_profile *clv_mig_profile_largest(const struct clv_mig_model *model);

/* The memory of an instance on a GPU with whole_bytes: the driver's figure, or the part
 * of the memory that its units are of the grid. */
uint64_t clv_mig_profile_memory(const struct clv_mig_model *model,
	const struct clv_mig_profile *profile, uint64_t whole_bytes);

/* Returns the index of the profile, or -EINVAL with a list of the existing ones. */
int clv_mig_profile_find(
	const struct clv_mig_model *model, const char *name, struct clv_error *err);

/* Lists all profiles: "1g.10gb, 2g.20gb". */
void clv_mig_list_profiles(
	const struct clv_mig_model *model, char *ret, size_t ret_bytes);

/* One GPU instance: a profile, by index in its model, at a position of the grid. */
struct clv_mig_instance {
	uint8_t profile;
	uint8_t start;
};

/* Summary of the instances of one GPU; zeroed: no instance. */
struct clv_mig_set {
	uint16_t units; /* bitmap of the units in use */
	uint8_t slices;
	uint8_t n_me;      /* instances with +me: at most one */
	uint8_t n_all_me;  /* instances with +me.all: all others must be -me */
	uint8_t n_some_me; /* instances with neither +me.all nor -me */
	uint8_t counts[CLV_MIG_PROFILES_MAX];
};

/* Why an instance cannot be added. */
enum clv_mig_obstacle {
	CLV_MIG_NO_OBSTACLE,
	CLV_MIG_NO_SUCH_START,
	CLV_MIG_OVERLAPS,
	CLV_MIG_NO_SLICES,
	CLV_MIG_TOO_MANY, /* of this profile */
	CLV_MIG_MEDIA_TAKEN,
	_CLV_MIG_OBSTACLE_MAX,
};

const char *clv_mig_obstacle_to_string(enum clv_mig_obstacle obstacle);

/* Adds the instance if the rules allow it next to the others. */
enum clv_mig_obstacle clv_mig_set_add(const struct clv_mig_model *model,
	struct clv_mig_set *set, struct clv_mig_instance instance);
/* Adds an existing instance without checking the rules, because the driver may allow more
 * than they know.  It must be inside the grid. */
void clv_mig_set_put(const struct clv_mig_model *model, struct clv_mig_set *set,
	struct clv_mig_instance instance);
void clv_mig_set_remove(const struct clv_mig_model *model, struct clv_mig_set *set,
	struct clv_mig_instance instance);

/* The number of different instances that could be added, one at a time: the placements
 * that are still open. */
unsigned clv_mig_set_count_options(
	const struct clv_mig_model *model, const struct clv_mig_set *set);

/* How many more instances of this profile fit next to the existing ones. */
unsigned clv_mig_set_capacity(const struct clv_mig_model *model,
	const struct clv_mig_set *set, uint8_t profile);
