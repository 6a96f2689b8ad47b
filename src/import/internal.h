/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/yaml.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_import;
struct clv_import_options;
struct clv_layout_rule;

/* What the readers of all formats share.  All functions return 0 or a negative errno with
 * *err set. */

/* More of anything is a slip of the pen; the layout's own text form draws the line here
 * too. */
#define CLV_IMPORT_NUMBER_MAX 4096u

/* Where a rule comes from. */
struct clv_import_origin {
	struct clv_yaml_value place;
	const char *model; /* that it is for, though it may select by number; or NULL */
};

/* One import under way. */
struct clv_import_job {
	const struct clv_import_options *options;
	struct clv_import *out;
	struct clv_import_origin *origins; /* of each rule of the layout */
	size_t n_origins;
};

int clv_import_no_memory(struct clv_yaml_value place, struct clv_error *err);

/* What cannot be carried over and what to do instead, as a sentence's part. */
int clv_import_remark(struct clv_import_job *job, struct clv_yaml_value place,
	struct clv_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Replicas of time-slicing become shares, which hold what they are promised. */
int clv_import_remark_time_slices(struct clv_import_job *job, struct clv_yaml_value place,
	uint32_t replicas, struct clv_error *err);

/* A rule for the vendor's GPUs, of a model or (NULL) of all; *ret is good until the next
 * is added. */
int clv_import_add_rule(struct clv_import_job *job, struct clv_yaml_value place,
	const char *vendor, const char *model, struct clv_layout_rule **ret,
	struct clv_error *err);
/* The file counts all of the vendor's GPUs, a layout those that the rest of the selector
 * leaves: from the first index on, the model selects no more. */
int clv_import_add_index(struct clv_layout_rule *rule, uint32_t index,
	struct clv_yaml_value place, struct clv_error *err);

/* A layout has one rule for each device: -EINVAL when two surely meet. */
int clv_import_check_overlaps(const struct clv_import_job *job, struct clv_error *err);

/* A thing with a name, of which one is to be imported. */
struct clv_import_choice {
	const char *name;
	struct clv_yaml_value value;
};

/* The one that is called so, or the only one (name NULL).  what: "configuration". */
int clv_import_choose(const struct clv_import_choice *choices, size_t n, const char *name,
	const char *what, struct clv_yaml_value place, struct clv_yaml_value *ret,
	struct clv_error *err);
/* The same of a map's keys. */
int clv_import_choose_key(struct clv_yaml_value map, const char *name, const char *what,
	struct clv_yaml_value *ret, struct clv_error *err);

/* Of a Kubernetes ConfigMap, *ret_content is the entry that is meant, as a document that
 * the caller frees, and options->select what is left to select in it.  Of anything else
 * *ret_content is left alone. */
int clv_import_unwrap(struct clv_yaml_value root, struct clv_import_options *options,
	struct clv_yaml **ret_content, struct clv_error *err);

/* The formats. */
int clv_import_mig_parted(
	struct clv_import_job *job, struct clv_yaml_value root, struct clv_error *err);
int clv_import_device_plugin(
	struct clv_import_job *job, struct clv_yaml_value root, struct clv_error *err);
int clv_import_device_config_manager(
	struct clv_import_job *job, struct clv_yaml_value root, struct clv_error *err);
int clv_import_compose(
	struct clv_import_job *job, struct clv_yaml_value root, struct clv_error *err);
