/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/yaml.h"
#include "core/device/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_import_job;
struct clv_layout_rule;

/* MIG in the notation of NVIDIA's tools, and whether it fits on a GPU.  Other tools count
 * compute instances; a layout counts GPU instances, and lists what is inside each. */

#define CLV_IMPORT_PARTS_MAX 8 /* NVML_COMPUTE_INSTANCE: eight slices at most */

/* "1c.3g.20gb+me" */
struct clv_import_profile {
	uint32_t part;                   /* 1; 0: one that fills the GPU instance */
	uint32_t slices;                 /* 3 */
	char name[CLV_PROFILE_NAME_MAX]; /* "3g.20gb+me" */
};

/* -EINVAL if the notation is wrong.  Whether a GPU has the profile is not checked. */
int clv_import_parse_profile(struct clv_yaml_value place, const char *text,
	struct clv_import_profile *ret, struct clv_error *err);

/* A number of instances of a profile. */
struct clv_import_want {
	struct clv_import_profile profile;
	uint32_t count;
	struct clv_yaml_value place;
};

/* A number of equal GPU instances, and the compute instances in each (none: a single one
 * that fills it). */
struct clv_import_row {
	char profile[CLV_PROFILE_NAME_MAX];
	uint32_t count;
	uint32_t parts[CLV_IMPORT_PARTS_MAX];
	size_t n_parts;
	struct clv_yaml_value place;
};

/* Packs compute instances into GPU instances, by first fit.  The caller frees *ret. */
int clv_import_pack(const struct clv_import_want *wants, size_t n_wants,
	struct clv_import_row **ret, size_t *ret_n, struct clv_error *err);

/* Whether one GPU of the model (NULL: any in the tables) holds all rows.  -EINVAL with
 * what it has and holds; adds a remark if the model is in no table. */
int clv_import_check_fit(struct clv_import_job *job, const char *model,
	const struct clv_import_row *rows, size_t n, struct clv_yaml_value place,
	struct clv_error *err);

/* Sets MIG on and adds these partitions to the rule. */
int clv_import_add_rows(struct clv_layout_rule *rule, const struct clv_import_row *rows,
	size_t n, struct clv_error *err);
