/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/yaml.h"
#include "core/layout/layout.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* Other tools' configuration files, read into a layout.  What a layout has no word for is
 * a remark, with what to do instead; what is wrong, or would come to mean something else,
 * is an error.  docs/import.md lists what becomes of what. */

struct clv_import_options {
	/* Which of several configurations the file has; NULL: the only one.  Of a
	 * Kubernetes ConfigMap with several entries, "ENTRY" or "ENTRY/CONFIGURATION". */
	const char *select;
};

struct clv_import_remark {
	uint32_t line;  /* in the file, from 1 */
	char text[512]; /* "FILE:LINE:COLUMN: what, and what to do instead" */
};

struct clv_import {
	const struct clv_import_format *format; /* that it was read as */
	struct clv_layout layout;
	struct clv_import_remark *remarks;
	size_t n_remarks;
};

struct clv_import_job;

struct clv_import_format {
	const char *name;  /* "mig-parted" */
	const char *title; /* "NVIDIA mig-parted" */
	/* Any of these at the top makes it this format: the first says what it looks
	 * like. NULL behind the last. */
	const char *keys[4];
	/* Why two of its entries may speak for one device, and what to do. */
	const char *overlap;
	int (*read)(struct clv_import_job *job, struct clv_yaml_value root,
		struct clv_error *err);
};

extern const struct clv_import_format clv_import_formats[];
extern const size_t clv_import_n_formats;

/* format NULL: by what the document looks like; options NULL: none.  -EINVAL or -ERANGE
 * with the place.  *ret is the caller's to clear. */
int clv_import(const char *format, const struct clv_yaml *document,
	const struct clv_import_options *options, struct clv_import *ret,
	struct clv_error *err);

/* Frees what it owns and zeroes it. */
void clv_import_clear(struct clv_import *import);
