/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* The rules of NVIDIA's Multi-Instance GPU: which GPU instances a GPU may have, and
 * where. Pure; positions are in units of the GPU's own placement grid (4, 8 or 12),
 * slices in compute slices.  Source of the rules: NVIDIA's MIG user guide;
 * nvmlGpuInstancePlacement_t for the grid. */

#define CLV_MIG_PROFILES_MAX 18 /* NVML_GPU_INSTANCE_PROFILE_COUNT of driver r580 */
#define CLV_MIG_STARTS_MAX 12
#define CLV_MIG_INSTANCES_MAX 16

/* The vendor's suffixes. */
enum clv_mig_attribute {
	CLV_MIG_ME = 1 << 0,     /* "+me": the media engines */
	CLV_MIG_GFX = 1 << 1,    /* "+gfx" */
	CLV_MIG_ALL_ME = 1 << 2, /* "+me.all": every media engine */
	CLV_MIG_NO_ME = 1 << 3,  /* "-me" */
};

/* How many engines of each kind; CLV_ENGINES_UNKNOWN: only a driver knows. */
struct clv_engines {
	uint8_t copy;
	uint8_t decode;
	uint8_t encode;
	uint8_t jpeg;
	uint8_t optical_flow;
};

#define CLV_ENGINES_UNKNOWN UINT8_MAX

struct clv_mig_profile {
	const char *name;
	uint32_t driver_id;  /* nvmlGpuInstanceProfileInfo_t.id, nvidia-smi's ID */
	uint32_t memory_mib; /* 0: not known without a driver; never what the name says */
	uint32_t attributes; /* of enum clv_mig_attribute */
	uint16_t multiprocessors; /* 0: not known without a driver */
	uint8_t nvml_index;       /* NVML_GPU_INSTANCE_PROFILE_* */
	uint8_t slices;           /* of compute */
	uint8_t size;             /* in units */
	uint8_t max_instances;
	uint8_t n_starts;
	uint8_t starts[CLV_MIG_STARTS_MAX];
	struct clv_engines engines; /* that its compute instances share */
};

struct clv_mig_model {
	const char *name; /* "A100-40GB" */
	uint8_t grid;     /* units */
	uint8_t slices;   /* that all instances may have together */
	const struct clv_mig_profile *profiles;
	size_t n_profiles;
};

/* The same rules inside a GPU instance of so many slices: a "GPU" whose profiles are
 * compute instances, "1c" and so on, and whose units are compute slices.  NULL: there is
 * no such GPU instance.  Source: nvidia-smi mig -lcipp of A100 and H100. */
const struct clv_mig_model *clv_mig_model_of_parts(unsigned slices);

/* A model as a driver describes it: a deep copy in one piece, for clv_mig_model_free().
 * NULL without memory. */
struct clv_mig_model *clv_mig_model_copy(const struct clv_mig_model *model);
void clv_mig_model_free(struct clv_mig_model *model);

/* The profile that has the most of the GPU; NULL if there is none. */
const struct clv_mig_profile *clv_mig_profile_largest(const struct clv_mig_model *model);

/* The index of the profile, or -EINVAL with what there is. */
int clv_mig_profile_find(
	const struct clv_mig_model *model, const char *name, struct clv_error *err);

/* "1g.10gb, 2g.20gb", all that it has. */
void clv_mig_list_profiles(
	const struct clv_mig_model *model, char *ret, size_t ret_bytes);

/* One GPU instance: a profile, by index in its model, at a place. */
struct clv_mig_instance {
	uint8_t profile;
	uint8_t start;
};

/* Instances that live on a GPU together; all zero is none. */
struct clv_mig_set {
	uint16_t units; /* a bit each */
	uint8_t slices;
	uint8_t n_me;      /* +me, of which a GPU has one */
	uint8_t n_all_me;  /* +me.all, beside which all others are -me */
	uint8_t n_some_me; /* neither +me.all nor -me */
	uint8_t counts[CLV_MIG_PROFILES_MAX];
};

/* Why an instance may not be added. */
enum clv_mig_obstacle {
	CLV_MIG_FITS,
	CLV_MIG_NO_SUCH_START,
	CLV_MIG_OVERLAPS,
	CLV_MIG_NO_SLICES,
	CLV_MIG_TOO_MANY, /* of this profile */
	CLV_MIG_MEDIA_TAKEN,
	_CLV_MIG_OBSTACLE_MAX,
};

const char *clv_mig_obstacle_to_string(enum clv_mig_obstacle obstacle);

/* Adds the instance if it may live beside the others. */
enum clv_mig_obstacle clv_mig_set_add(const struct clv_mig_model *model,
	struct clv_mig_set *set, struct clv_mig_instance instance);
/* Adds what is there, whether or not these rules know that it may be.  It must lie inside
 * the grid. */
void clv_mig_set_put(const struct clv_mig_model *model, struct clv_mig_set *set,
	struct clv_mig_instance instance);
void clv_mig_set_remove(const struct clv_mig_model *model, struct clv_mig_set *set,
	struct clv_mig_instance instance);

/* How many different instances could be added, one at a time: what a layout leaves open
 * for later. */
unsigned clv_mig_set_count_options(
	const struct clv_mig_model *model, const struct clv_mig_set *set);

/* How many more of this profile fit beside what is there, wherever they are put. */
unsigned clv_mig_set_capacity(const struct clv_mig_model *model,
	const struct clv_mig_set *set, uint8_t profile);
