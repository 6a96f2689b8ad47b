/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "base/yaml.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_import;
struct clv_import_options;
struct clv_layout_rule;

CLV_DEFINE_CLEANUP(struct clv_yaml *, clv_yaml_free)
#define _cleanup_yaml_ CLV_CLEANUP(clv_yaml_freep)

/* Functions that the readers of all formats share.  All return 0 or a negative errno with
 * *err set. */

/* Larger numbers are taken for mistakes; the text form of layouts has the same bound. */
#define CLV_IMPORT_NUMBER_MAX 4096u

/* Where a rule comes from. */
struct clv_import_origin {
	struct clv_yaml_value place;
	/* the model that the rule is for, even if it selects by index; or NULL */
	const char *model;
};

/* One import in progress. */
struct clv_import_job {
	const struct clv_import_options *options;
	struct clv_import *out;
	struct clv_import_origin *origins; /* by rule of the layout */
	size_t n_origins;
};

int clv_import_no_memory(struct clv_yaml_value place, struct clv_error *err);

/* Adds a remark: what cannot be carried over, and what to do instead. */
int clv_import_remark(struct clv_import_job *job, struct clv_yaml_value place,
	struct clv_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The remark that replicas of time-slicing become shares, whose memory is bounded. */
int clv_import_remark_time_slices(struct clv_import_job *job, struct clv_yaml_value place,
	uint32_t replicas, struct clv_error *err);

/* Adds a rule for the GPUs of a vendor, of one model or (NULL) of all; *ret is valid
 * until the next rule is added. */
int clv_import_add_rule(struct clv_import_job *job, struct clv_yaml_value place,
	const char *vendor, const char *model, struct clv_layout_rule **ret,
	struct clv_error *err);
/* Adds an index to the selector and removes its model: other tools count all GPUs of the
 * vendor, a layout only those that match the rest of the selector. */
int clv_import_add_index(struct clv_layout_rule *rule, uint32_t index,
	struct clv_yaml_value place, struct clv_error *err);

/* -EINVAL if two rules certainly select the same device: a layout has one rule for
 * each. */
int clv_import_check_overlaps(const struct clv_import_job *job, struct clv_error *err);

/* A named item, of which one is imported. */
struct clv_import_choice {
	const char *name;
	struct clv_yaml_value value;
};

/* Finds the item of that name, or the only item (name NULL).  what: the kind of item in
 * messages, such as "configuration". */
int clv_import_choose(const struct clv_import_choice *choices, size_t n, const char *name,
	const char *what, struct clv_yaml_value place, struct clv_yaml_value *ret,
	struct clv_error *err);
/* The same for the keys of a map. */
int clv_import_choose_key(struct clv_yaml_value map, const char *name, const char *what,
	struct clv_yaml_value *ret, struct clv_error *err);

/* For a Kubernetes ConfigMap, *ret_content is the selected entry as a document that the
 * caller frees, and options->select is reduced to what selects in it.  For anything else
 * *ret_content is unchanged. */
int clv_import_unwrap(struct clv_yaml_value root, struct clv_import_options *options,
	struct clv_yaml **ret_content, struct clv_error *err);

/* Whether the document has one of the formats; whether it is a ConfigMap. */
bool clv_import_is_known(struct clv_yaml_value root);
bool clv_import_is_configmap(struct clv_yaml_value root);
/* Parses an entry of a ConfigMap as a document, which the caller frees. */
int clv_import_parse_entry(struct clv_yaml_value entry, struct clv_yaml **ret_content,
	struct clv_error *err);

/* Parses a part of a file.  Messages have the line numbers of the file: n_lines_before is
 * the number of lines before the part. */
int clv_import_parse_at(const char *text, size_t n_bytes, size_t n_lines_before,
	const char *name, struct clv_yaml **ret, struct clv_error *err);

/* The formats. */
int clv_import_mig_parted(
	struct clv_import_job *job, struct clv_yaml_value root, struct clv_error *err);
int clv_import_device_plugin(
	struct clv_import_job *job, struct clv_yaml_value root, struct clv_error *err);
int clv_import_device_config_manager(
	struct clv_import_job *job, struct clv_yaml_value root, struct clv_error *err);
int clv_import_compose(
	struct clv_import_job *job, struct clv_yaml_value root, struct clv_error *err);
