/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The GPU types that can be simulated, and the MIG properties of each. */

#define DNV_GRID_MAX 12
#define DNV_PROFILES_MAX 11

/* A resource of `size` consecutive units, beginning at one of its starts. */
struct dnv_span {
	uint8_t size, n_starts, starts[DNV_GRID_MAX];
};

struct dnv_engines {
	uint8_t decoders, encoders, jpegs, ofas;
};

struct dnv_gi_profile {
	const char *name;
	uint32_t id;   /* for requests of an instance */
	uint8_t index; /* for queries of the profile */
	uint8_t slices, max;
	bool gfx;
	uint16_t sms;
	uint32_t memory_mib;
	uint8_t copy_engines;
	struct dnv_engines engines;
	struct dnv_span span; /* units of the GPU's grid */
};

struct dnv_model {
	const char *type, *name;
	uint32_t device_id, subsystem_id;
	uint32_t memory_mib, reserved_mib, cores;
	uint8_t architecture, capability[2]; /* 7 is Ampere; 8 and 0 of 8.0 */
	uint8_t grid, slices;                /* both 0 without MIG */
	bool keeps_mode;                     /* across a reboot: Ampere stores it */
	uint16_t double_sms; /* of 1g with double memory, if more than 1g's */
	const struct dnv_gi_profile *profiles;
	size_t n_profiles;
};

const struct dnv_model *dnv_model_find(const char *type);

/* A compute instance's profile; its number is both its index and its id. The profiles
 * depend on the slices of the GPU instance. */
struct dnv_ci_profile {
	uint8_t gi_slices, number, slices;
	struct dnv_span span; /* compute slices of the GPU instance */
};

extern const struct dnv_ci_profile dnv_ci_profiles[];
extern const size_t dnv_n_ci_profiles;

/* Whether this build's driver knows the profile, and the GPU instance offers it. */
bool dnv_gi_profile_exists(const struct dnv_gi_profile *profile);
bool dnv_ci_profile_exists(const struct dnv_model *model, const struct dnv_gi_profile *gi,
	const struct dnv_ci_profile *profile);

uint32_t dnv_ci_sms(const struct dnv_model *model, const struct dnv_gi_profile *gi,
	const struct dnv_ci_profile *profile);
/* "MIG 1g.5gb", "MIG 1c.3g.20gb". */
void dnv_ci_name(const struct dnv_gi_profile *gi, const struct dnv_ci_profile *profile,
	char *ret, size_t bytes);

/* Number of profile indexes in the driver's header. */
extern const uint32_t dnv_gi_profile_count, dnv_ci_profile_count;
