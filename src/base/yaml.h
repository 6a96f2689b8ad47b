/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* A strict reader of YAML (and so JSON) documents.  The caller's tables name the allowed
 * keys; anything else is an error with line and column.  Documents may be untrusted:
 * depth and size are bounded, duplicate keys are errors, and each use of an alias counts
 * with the size of what it refers to. */

#define CLV_YAML_MAX_BYTES (1u << 20)

struct clv_yaml;

/* Parses a copy of data.  name is the document's name in messages ("layout.yaml").
 * -EINVAL with line and column; -E2BIG if the document is larger than CLV_YAML_MAX_BYTES
 * or expands to too much through aliases. */
int clv_yaml_parse(const char *data, size_t n_bytes, const char *name,
	struct clv_yaml **ret, struct clv_error *err);
/* The same for a document of few values, counted with aliases expanded: parsing takes
 * time by their number. */
int clv_yaml_parse_small(const char *data, size_t n_bytes, const char *name,
	size_t values_max, struct clv_yaml **ret, struct clv_error *err);
/* Parses a file, "-" for standard input. */
int clv_yaml_parse_file(const char *path, struct clv_yaml **ret, struct clv_error *err);
struct clv_yaml *clv_yaml_free(struct clv_yaml *yaml);

enum clv_yaml_kind {
	CLV_YAML_NULL, /* empty, "~" or "null" */
	CLV_YAML_TEXT, /* every other scalar, numbers too */
	CLV_YAML_LIST,
	CLV_YAML_MAP,
};

/* Replaces texts of a document before it is read.  replace is called for each scalar that
 * is not a key; what it stores in *ret, allocated by malloc, takes the place of the text
 * and is a text even if it is empty.  NULL leaves the scalar as it is.  -E2BIG if the new
 * texts together exceed CLV_YAML_MAX_BYTES. */
struct clv_yaml_value;
int clv_yaml_replace_texts(struct clv_yaml *yaml,
	int (*replace)(struct clv_yaml_value value, void *userdata, char **ret,
		struct clv_error *err),
	void *userdata, struct clv_error *err);

/* A value in a document, valid as long as the document.  Passed by value. */
struct clv_yaml_value {
	const struct clv_yaml *yaml;
	int index;
};

/* The document's name in messages.  Borrowed. */
const char *clv_yaml_name(const struct clv_yaml *yaml);

struct clv_yaml_value clv_yaml_root(const struct clv_yaml *yaml);
enum clv_yaml_kind clv_yaml_kind(struct clv_yaml_value value);
/* Line of the document, from 1. */
unsigned clv_yaml_line(struct clv_yaml_value value);
/* The text of a scalar, "" for other kinds.  Borrowed. */
const char *clv_yaml_text(struct clv_yaml_value value);
/* Whether the value is a literal block ("|"), whose first line follows
 * clv_yaml_line(). */
bool clv_yaml_is_block(struct clv_yaml_value value);

/* Number of items of a list or of keys of a map; 0 for other kinds. */
size_t clv_yaml_count(struct clv_yaml_value value);
struct clv_yaml_value clv_yaml_item(struct clv_yaml_value list, size_t at);
struct clv_yaml_value clv_yaml_key(struct clv_yaml_value map, size_t at);
struct clv_yaml_value clv_yaml_at(struct clv_yaml_value map, size_t at);
/* Returns false if the map has no such key; *ret is unchanged then. */
bool clv_yaml_find(
	struct clv_yaml_value map, const char *key, struct clv_yaml_value *ret);

/* Sets the message "NAME:LINE:COLUMN: ..." and returns code. */
int clv_yaml_fail(struct clv_yaml_value value, struct clv_error *err, int code,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Prepends "NAME:LINE:COLUMN: " of value to the message in err. */
int clv_yaml_prefix_position(struct clv_yaml_value value, struct clv_error *err);

/* Reading goes on after a mistake in a part of a map or list: on_mistake is called for
 * each, and the function that reads the whole returns the code of the first. */
struct clv_yaml_mistakes {
	void (*on_mistake)(void *userdata, const struct clv_error *mistake);
	void *userdata;
	size_t n; /* so far */
};
/* mistakes is borrowed; NULL, the default: the first mistake ends reading. */
void clv_yaml_set_mistakes(struct clv_yaml *yaml, struct clv_yaml_mistakes *mistakes);
struct clv_yaml_mistakes *clv_yaml_mistakes(struct clv_yaml_value value);

/* One key of a map and the function that reads its value.  Tables of these are static.  A
 * key that ends in '*' stands for all keys with that beginning that no row before it has.
 */
struct clv_yaml_field {
	const char *key;
	int (*read)(struct clv_yaml_value value, void *into, struct clv_error *err);
	bool is_required;
	size_t offset; /* added to `into` for the call of read */
};

/* Calls the read function of each key in the map.  An unknown key is -EINVAL with line,
 * column and the nearest known key; so is a missing required key. */
int clv_yaml_read_map(struct clv_yaml_value map, const struct clv_yaml_field *fields,
	size_t n_fields, void *into, struct clv_error *err);

/* Calls read for each item of a list in turn, or once for a value that is not a list. */
int clv_yaml_read_list(struct clv_yaml_value list,
	int (*read)(struct clv_yaml_value value, void *into, struct clv_error *err),
	void *into, struct clv_error *err);

/* Scalars.  -EINVAL or -ERANGE with line, column and what is accepted. */
int clv_yaml_read_text(
	struct clv_yaml_value value, char *ret, size_t ret_bytes, struct clv_error *err);
int clv_yaml_read_number(struct clv_yaml_value value, uint64_t least, uint64_t most,
	uint64_t *ret, struct clv_error *err);
/* true/false, on/off, yes/no */
int clv_yaml_read_bool(struct clv_yaml_value value, bool *ret, struct clv_error *err);
/* Returns the index of the text in names, or -EINVAL. */
int clv_yaml_read_choice(struct clv_yaml_value value, const char *const *names,
	size_t n_names, struct clv_error *err);
