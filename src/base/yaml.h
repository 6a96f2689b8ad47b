/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* A YAML document (JSON is one too), read strictly: who reads it says what may be there,
 * and whatever else is there is an error with line and column.  Anything may be fed to
 * it: depth and size are bounded, keys are said once, an alias costs what it stands
 * for. */

#define CLV_YAML_MAX_BYTES (1u << 20)

struct clv_yaml;

/* data is copied.  name is what messages call the document ("layout.yaml").  -EINVAL with
 * the place, -E2BIG when it is larger than CLV_YAML_MAX_BYTES or its aliases unfold to
 * too much. */
int clv_yaml_parse(const char *data, size_t n_bytes, const char *name,
	struct clv_yaml **ret, struct clv_error *err);
/* Reads the file, "-" for standard input. */
int clv_yaml_parse_file(const char *path, struct clv_yaml **ret, struct clv_error *err);
struct clv_yaml *clv_yaml_free(struct clv_yaml *yaml);

enum clv_yaml_kind {
	CLV_YAML_NULL, /* empty, "~" or "null" */
	CLV_YAML_TEXT, /* every other scalar, numbers too */
	CLV_YAML_LIST,
	CLV_YAML_MAP,
};

/* A place in a document, as long as that lives.  Passed by value. */
struct clv_yaml_value {
	const struct clv_yaml *yaml;
	int index;
};

/* What messages call the document.  Borrowed. */
const char *clv_yaml_name(const struct clv_yaml *yaml);

struct clv_yaml_value clv_yaml_root(const struct clv_yaml *yaml);
enum clv_yaml_kind clv_yaml_kind(struct clv_yaml_value value);
/* From 1. */
unsigned clv_yaml_line(struct clv_yaml_value value);
/* "" unless it is a text.  Borrowed. */
const char *clv_yaml_text(struct clv_yaml_value value);
/* A text written as "|": its first line is the one behind clv_yaml_line(). */
bool clv_yaml_is_block(struct clv_yaml_value value);

/* Of a list or a map; 0 of everything else. */
size_t clv_yaml_count(struct clv_yaml_value value);
struct clv_yaml_value clv_yaml_item(struct clv_yaml_value list, size_t at);
struct clv_yaml_value clv_yaml_key(struct clv_yaml_value map, size_t at);
struct clv_yaml_value clv_yaml_at(struct clv_yaml_value map, size_t at);
/* False: it has no such key, *ret is left alone. */
bool clv_yaml_find(
	struct clv_yaml_value map, const char *key, struct clv_yaml_value *ret);

/* "NAME:LINE:COLUMN: ..."; stores and returns code. */
int clv_yaml_fail(struct clv_yaml_value value, struct clv_error *err, int code,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Puts the place in front of a message that is there. */
int clv_yaml_at_fault(struct clv_yaml_value value, struct clv_error *err);

/* One key of a map, and who takes its value.  Tables of these are static. */
struct clv_yaml_field {
	const char *key;
	int (*read)(struct clv_yaml_value value, void *into, struct clv_error *err);
	bool is_required;
	size_t offset; /* read gets the address of this byte of what the map fills */
};

/* Hands each value to its field.  A key that is in no field: -EINVAL with the place and
 * the nearest one that is. */
int clv_yaml_read_map(struct clv_yaml_value map, const struct clv_yaml_field *fields,
	size_t n_fields, void *into, struct clv_error *err);

/* Every item of a list in turn; what is no list counts as a list of itself. */
int clv_yaml_read_list(struct clv_yaml_value list,
	int (*read)(struct clv_yaml_value value, void *into, struct clv_error *err),
	void *into, struct clv_error *err);

/* Scalars; -EINVAL or -ERANGE with the place and what would do. */
int clv_yaml_read_text(
	struct clv_yaml_value value, char *ret, size_t ret_bytes, struct clv_error *err);
int clv_yaml_read_number(struct clv_yaml_value value, uint64_t least, uint64_t most,
	uint64_t *ret, struct clv_error *err);
/* true/false, on/off, yes/no */
int clv_yaml_read_bool(struct clv_yaml_value value, bool *ret, struct clv_error *err);
/* The index in names. */
int clv_yaml_read_choice(struct clv_yaml_value value, const char *const *names,
	size_t n_names, struct clv_error *err);
