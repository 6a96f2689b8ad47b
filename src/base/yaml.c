/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#define DEPTH_MAX 32
/* Aliases may name a part often; unfolded, a document has at most so many. */
#define VISITS_MAX 200000u
#define KEYS_MAX 1024u

struct clv_yaml {
	yaml_document_t document;
	char name[128];
};

static yaml_node_t *node_of(struct clv_yaml_value value)
{
	return yaml_document_get_node(
		(yaml_document_t *)&value.yaml->document, value.index);
}

struct walk {
	struct clv_yaml *yaml;
	size_t n_visits;
};

static int check(struct walk *walk, struct clv_yaml_value value, unsigned depth,
	struct clv_error *err);

static int check_key(struct clv_yaml_value map, size_t at, struct clv_error *err)
{
	struct clv_yaml_value key = clv_yaml_key(map, at), other;

	if (clv_yaml_kind(key) != CLV_YAML_TEXT)
		return clv_yaml_fail(key, err, -EINVAL, "a key must be a word");
	if (clv_yaml_find(map, clv_yaml_text(key), &other) &&
		node_of(other) != node_of(clv_yaml_at(map, at)))
		return clv_yaml_fail(key, err, -EINVAL, "the key '%.40s' is said twice",
			clv_yaml_text(key));
	return 0;
}

static int check_parts(struct walk *walk, struct clv_yaml_value value, unsigned depth,
	struct clv_error *err)
{
	bool is_map = clv_yaml_kind(value) == CLV_YAML_MAP;
	int r = 0;

	if (is_map && clv_yaml_count(value) > KEYS_MAX)
		return clv_yaml_fail(value, err, -E2BIG, "more than %u keys", KEYS_MAX);
	for (size_t i = 0; i < clv_yaml_count(value) && r >= 0; i++) {
		if (is_map)
			r = check_key(value, i, err);
		if (r >= 0)
			r = check(walk,
				is_map ? clv_yaml_at(value, i) : clv_yaml_item(value, i),
				depth + 1, err);
	}
	return r;
}

/* An alias may lead back to what it stands in: depth bounds that too. */
static int check(struct walk *walk, struct clv_yaml_value value, unsigned depth,
	struct clv_error *err)
{
	if (depth > DEPTH_MAX)
		return clv_yaml_fail(value, err, -EINVAL,
			"nested more than %d levels deep", DEPTH_MAX);
	if (++walk->n_visits > VISITS_MAX)
		return clv_yaml_fail(value, err, -E2BIG,
			"too much: at most %u values, aliases unfolded", VISITS_MAX);
	return check_parts(walk, value, depth, err);
}

static int fail_to_parse(
	const yaml_parser_t *parser, const char *name, struct clv_error *err)
{
	if (parser->error == YAML_MEMORY_ERROR)
		return clv_error_errno(err, ENOMEM, "cannot read %s", name);
	return clv_error_set(err, -EINVAL, "%s:%zu:%zu: %s: no YAML", name,
		parser->problem_mark.line + 1, parser->problem_mark.column + 1,
		parser->problem ? parser->problem : "it cannot be read");
}

static int load(yaml_parser_t *parser, struct clv_yaml *yaml, struct clv_error *err)
{
	struct walk walk = {.yaml = yaml};

	if (!yaml_parser_load(parser, &yaml->document))
		return fail_to_parse(parser, yaml->name, err);
	if (!yaml_document_get_root_node(&yaml->document))
		return clv_error_set(err, -EINVAL, "%s: it is empty", yaml->name);
	return check(&walk, clv_yaml_root(yaml), 0, err);
}

int clv_yaml_parse(const char *data, size_t n_bytes, const char *name,
	struct clv_yaml **ret, struct clv_error *err)
{
	struct clv_yaml *yaml;
	yaml_parser_t parser;
	int r;

	if (n_bytes > CLV_YAML_MAX_BYTES)
		return clv_error_set(err, -E2BIG, "%s: it is larger than %u bytes", name,
			CLV_YAML_MAX_BYTES);
	yaml = calloc(1, sizeof(*yaml));
	if (!yaml || !yaml_parser_initialize(&parser)) {
		free(yaml);
		return clv_error_errno(err, ENOMEM, "cannot read %s", name);
	}
	snprintf(yaml->name, sizeof(yaml->name), "%s", name);
	yaml_parser_set_input_string(&parser, (const unsigned char *)data, n_bytes);
	r = load(&parser, yaml, err);
	yaml_parser_delete(&parser);
	if (r < 0) {
		clv_yaml_free(yaml);
		return r;
	}
	*ret = yaml;
	return 0;
}

int clv_yaml_parse_file(const char *path, struct clv_yaml **ret, struct clv_error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	_cleanup_free_ char *data = malloc(CLV_YAML_MAX_BYTES + 1);
	FILE *stream = is_stdin ? stdin : fopen(path, "re");
	size_t n_bytes;
	int error;

	if (!stream)
		return clv_error_errno(err, errno, "cannot read %s", path);
	if (!data)
		errno = ENOMEM;
	n_bytes = data ? fread(data, 1, CLV_YAML_MAX_BYTES + 1, stream) : 0;
	error = !data || ferror(stream) ? errno : 0;
	if (!is_stdin)
		fclose(stream);
	if (error)
		return clv_error_errno(err, error, "cannot read %s", path);
	return clv_yaml_parse(data, n_bytes, is_stdin ? "stdin" : path, ret, err);
}

struct clv_yaml *clv_yaml_free(struct clv_yaml *yaml)
{
	if (!yaml)
		return NULL;
	yaml_document_delete(&yaml->document);
	free(yaml);
	return NULL;
}

struct clv_yaml_value clv_yaml_root(const struct clv_yaml *yaml)
{
	return (struct clv_yaml_value){yaml, 1};
}

static bool is_null(const yaml_node_t *node)
{
	const char *text = (const char *)node->data.scalar.value;

	return node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

enum clv_yaml_kind clv_yaml_kind(struct clv_yaml_value value)
{
	const yaml_node_t *node = node_of(value);

	switch (node->type) {
	case YAML_SEQUENCE_NODE:
		return CLV_YAML_LIST;
	case YAML_MAPPING_NODE:
		return CLV_YAML_MAP;
	case YAML_SCALAR_NODE:
		return is_null(node) ? CLV_YAML_NULL : CLV_YAML_TEXT;
	default:
		return CLV_YAML_NULL;
	}
}

unsigned clv_yaml_line(struct clv_yaml_value value)
{
	return (unsigned)node_of(value)->start_mark.line + 1;
}

const char *clv_yaml_text(struct clv_yaml_value value)
{
	if (clv_yaml_kind(value) != CLV_YAML_TEXT)
		return "";
	return (const char *)node_of(value)->data.scalar.value;
}

static yaml_node_pair_t *pair_of(struct clv_yaml_value map, size_t at)
{
	return &node_of(map)->data.mapping.pairs.start[at];
}

size_t clv_yaml_count(struct clv_yaml_value value)
{
	const yaml_node_t *node = node_of(value);

	if (node->type == YAML_SEQUENCE_NODE)
		return (size_t)(node->data.sequence.items.top -
				node->data.sequence.items.start);
	if (node->type == YAML_MAPPING_NODE)
		return (size_t)(node->data.mapping.pairs.top -
				node->data.mapping.pairs.start);
	return 0;
}

struct clv_yaml_value clv_yaml_item(struct clv_yaml_value list, size_t at)
{
	return (struct clv_yaml_value){
		list.yaml, node_of(list)->data.sequence.items.start[at]};
}

struct clv_yaml_value clv_yaml_key(struct clv_yaml_value map, size_t at)
{
	return (struct clv_yaml_value){map.yaml, pair_of(map, at)->key};
}

struct clv_yaml_value clv_yaml_at(struct clv_yaml_value map, size_t at)
{
	return (struct clv_yaml_value){map.yaml, pair_of(map, at)->value};
}

bool clv_yaml_find(struct clv_yaml_value map, const char *key, struct clv_yaml_value *ret)
{
	if (clv_yaml_kind(map) != CLV_YAML_MAP)
		return false;
	for (size_t i = 0; i < clv_yaml_count(map); i++) {
		if (strcmp(clv_yaml_text(clv_yaml_key(map, i)), key) == 0) {
			*ret = clv_yaml_at(map, i);
			return true;
		}
	}
	return false;
}

int clv_yaml_at_fault(struct clv_yaml_value value, struct clv_error *err)
{
	const yaml_mark_t *mark = &node_of(value)->start_mark;

	return clv_error_prefix(
		err, "%s:%zu:%zu", value.yaml->name, mark->line + 1, mark->column + 1);
}

int clv_yaml_fail(struct clv_yaml_value value, struct clv_error *err, int code,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	clv_error_setv(err, code, format, args);
	va_end(args);
	clv_yaml_at_fault(value, err);
	return code;
}
