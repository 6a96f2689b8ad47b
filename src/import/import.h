/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/yaml.h"
#include "core/layout/layout.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* Imports configuration files of other tools as a layout.  What a layout cannot express
 * becomes a remark that says what to do instead; what is wrong, or would change its
 * meaning, is an error.  docs/import.md lists how each setting is translated. */

struct clv_import_options {
	/* The configuration to import if the file has several; NULL: the only one.  For a
	 * Kubernetes ConfigMap with several entries, "ENTRY" or "ENTRY/CONFIGURATION". */
	const char *select;
};

struct clv_import_remark {
	uint32_t line;  /* in the file, from 1 */
	char text[512]; /* "FILE:LINE:COLUMN: what, and what to do instead" */
};

struct clv_import {
	const struct clv_import_format *format; /* the format that it was read as */
	struct clv_layout layout;
	struct clv_import_remark *remarks;
	size_t n_remarks;
};

struct clv_import_job;

struct clv_import_format {
	const char *name;  /* "mig-parted" */
	const char *title; /* "NVIDIA mig-parted" */
	/* A document with any of these top-level keys has this format; messages name the
	 * first.  NULL after the last. */
	const char *keys[4];
	/* Why two entries may select one device, and what to do. */
	const char *overlap;
	int (*read)(struct clv_import_job *job, struct clv_yaml_value root,
		struct clv_error *err);
};

extern const struct clv_import_format clv_import_formats[];
extern const size_t clv_import_n_formats;

/* Parses the document of the text that can be imported, if there are several: a manifest
 * of Kubernetes has others beside it.  The name is that of the file.  -EINVAL or -E2BIG
 * as clv_yaml_parse(); -EINVAL if several documents, or none of several, can be imported.
 */
int clv_import_parse(const char *text, size_t n_bytes, const char *name,
	struct clv_yaml **ret, struct clv_error *err);

/* format NULL: detected by the keys of the document; options NULL: none.  -EINVAL or
 * -ERANGE with line and column.  The caller clears *ret. */
int clv_import(const char *format, const struct clv_yaml *document,
	const struct clv_import_options *options, struct clv_import *ret,
	struct clv_error *err);

/* Frees what it owns and zeroes it. */
void clv_import_clear(struct clv_import *import);
