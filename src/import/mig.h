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

/* MIG as NVIDIA's tools write it, and what of it fits on a GPU.  Other tools count
 * compute instances; a layout counts GPU instances, and says what is inside each. */

#define CLV_IMPORT_PARTS_MAX 8 /* NVML_COMPUTE_INSTANCE: eight slices at most */

/* "1c.3g.20gb+me" */
struct clv_import_profile {
	uint32_t part;                   /* 1; 0: one that fills the GPU instance */
	uint32_t slices;                 /* 3 */
	char name[CLV_PROFILE_NAME_MAX]; /* "3g.20gb+me" */
};

/* -EINVAL when it is not written like one; whether a GPU has it is another matter. */
int clv_import_parse_profile(struct clv_yaml_value place, const char *text,
	struct clv_import_profile *ret, struct clv_error *err);

/* So many instances of a profile. */
struct clv_import_want {
	struct clv_import_profile profile;
	uint32_t count;
	struct clv_yaml_value place;
};

/* So many GPU instances, and the compute instances in each (none: one that fills it). */
struct clv_import_row {
	char profile[CLV_PROFILE_NAME_MAX];
	uint32_t count;
	uint32_t parts[CLV_IMPORT_PARTS_MAX];
	size_t n_parts;
	struct clv_yaml_value place;
};

/* Puts the compute instances into as few GPU instances as hold them.  *ret is the
 * caller's to free. */
int clv_import_pack(const struct clv_import_want *wants, size_t n_wants,
	struct clv_import_row **ret, size_t *ret_n, struct clv_error *err);

/* Whether one GPU of the model (NULL: any that the tables have) holds the rows together:
 * -EINVAL with what it has and holds; a remark where no table can say. */
int clv_import_check_fit(struct clv_import_job *job, const char *model,
	const struct clv_import_row *rows, size_t n, struct clv_yaml_value place,
	struct clv_error *err);

/* MIG on, and these partitions. */
int clv_import_add_rows(struct clv_layout_rule *rule, const struct clv_import_row *rows,
	size_t n, struct clv_error *err);
