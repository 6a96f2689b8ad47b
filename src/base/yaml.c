/* SPDX-License-Identifier: Apache-2.0 */
/* Documents on top of libyaml: bounds on size, depth and aliases, and access to
 * values. */
#include "base/yaml.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define DEPTH_MAX 32
#define TOO_DEEP "nested more than %d levels deep"
/* Bound on the values of a document after aliases are expanded. */
#define VALUES_MAX 200000u
/* libyaml compares each alias with the anchors, and check_key() each key with the others.
 */
#define ANCHORS_MAX 256u
#define ALIASES_MAX 4096u
#define KEYS_MAX 256u

struct clv_yaml {
	yaml_document_t document;
	char name[128];
	struct clv_yaml_mistakes *mistakes;
};

/* The text that is parsed, for line and column in messages. */
struct source {
	const char *name;
	const unsigned char *data;
	size_t n_bytes;
	size_t values_max;
};

static yaml_node_t *node_of(struct clv_yaml_value value)
{
	return yaml_document_get_node(
		(yaml_document_t *)&value.yaml->document, value.index);
}

static int fail_at(const struct source *source, size_t line, size_t column,
	struct clv_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* Line and column count from 0, as in libyaml. */
static int fail_at(const struct source *source, size_t line, size_t column,
	struct clv_error *err, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	clv_error_setv(err, code, format, args);
	va_end(args);
	clv_error_prefix(err, "%s:%zu:%zu", source->name, line + 1, column + 1);
	return code;
}

/* For bytes that are not valid text, libyaml reports only their offset. */
static int fail_with_bytes(
	const struct source *source, const yaml_parser_t *parser, struct clv_error *err)
{
	size_t line = 0, column = 0;

	for (size_t i = 0; i < parser->problem_offset && i < source->n_bytes; i++) {
		if (source->data[i] == '\n') {
			line++;
			column = 0;
		} else if ((source->data[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	return fail_at(
		source, line, column, err, -EINVAL, "%s: invalid YAML", parser->problem);
}

static int fail_to_parse(
	const struct source *source, const yaml_parser_t *parser, struct clv_error *err)
{
	if (parser->error == YAML_MEMORY_ERROR)
		return clv_error_errno(err, ENOMEM, "cannot read %s", source->name);
	if (parser->error == YAML_READER_ERROR)
		return fail_with_bytes(source, parser, err);
	return fail_at(source, parser->problem_mark.line, parser->problem_mark.column,
		err, -EINVAL, "%s: invalid YAML",
		parser->problem ? parser->problem : "it cannot be read");
}

/* First pass, over the tokens.  When libyaml builds nodes, its time grows with the square
 * of the depth, of the anchors and of the %TAG lines: a document of a megabyte could take
 * hours. */
struct scan {
	const struct source *source;
	unsigned depth;
	unsigned n_anchors;
	unsigned n_aliases;
	size_t n_values;
	bool has_begun; /* a document start was seen */
	bool has_content;
	bool has_ended;
};

static int scan_document(
	struct scan *scan, const yaml_token_t *token, struct clv_error *err)
{
	bool is_end = token->type == YAML_DOCUMENT_END_TOKEN;
	bool is_start = token->type == YAML_DOCUMENT_START_TOKEN;

	if (scan->has_ended ? !is_end
			    : is_start && (scan->has_begun || scan->has_content))
		return fail_at(scan->source, token->start_mark.line,
			token->start_mark.column, err, -EINVAL,
			"a second document begins here: only one is expected");
	scan->has_begun |= is_start;
	scan->has_content |= !is_start && !is_end;
	scan->has_ended |= is_end && (scan->has_begun || scan->has_content);
	return 0;
}

#define TOO_LARGE "too large: at most %zu values with aliases expanded"

/* An empty value has no token: check() counts it. */
static int count_value(
	struct scan *scan, const yaml_token_t *token, struct clv_error *err)
{
	if (++scan->n_values <= scan->source->values_max)
		return 0;
	return fail_at(scan->source, token->start_mark.line, token->start_mark.column,
		err, -E2BIG, TOO_LARGE, scan->source->values_max);
}

static int scan_token(struct scan *scan, const yaml_token_t *token, struct clv_error *err)
{
	const yaml_mark_t *at = &token->start_mark;
	int r = 0;

	switch (token->type) {
	case YAML_STREAM_START_TOKEN:
	case YAML_STREAM_END_TOKEN:
	case YAML_VERSION_DIRECTIVE_TOKEN:
		return 0;
	case YAML_TAG_DIRECTIVE_TOKEN:
		return fail_at(scan->source, at->line, at->column, err, -EINVAL,
			"%%TAG is not supported: remove it");
	case YAML_BLOCK_SEQUENCE_START_TOKEN:
	case YAML_BLOCK_MAPPING_START_TOKEN:
	case YAML_FLOW_SEQUENCE_START_TOKEN:
	case YAML_FLOW_MAPPING_START_TOKEN:
		/* A value at the deepest level may still be an empty list or map. */
		if (++scan->depth > DEPTH_MAX + 1)
			return fail_at(scan->source, at->line, at->column, err, -EINVAL,
				TOO_DEEP, DEPTH_MAX);
		r = count_value(scan, token, err);
		break;
	case YAML_SCALAR_TOKEN:
		r = count_value(scan, token, err);
		break;
	case YAML_BLOCK_END_TOKEN:
	case YAML_FLOW_SEQUENCE_END_TOKEN:
	case YAML_FLOW_MAPPING_END_TOKEN:
		scan->depth -= scan->depth > 0;
		break;
	case YAML_ANCHOR_TOKEN:
		if (++scan->n_anchors > ANCHORS_MAX)
			return fail_at(scan->source, at->line, at->column, err, -E2BIG,
				"more than %u anchors", ANCHORS_MAX);
		break;
	case YAML_ALIAS_TOKEN:
		if (++scan->n_aliases > ALIASES_MAX)
			return fail_at(scan->source, at->line, at->column, err, -E2BIG,
				"more than %u aliases", ALIASES_MAX);
		break;
	default:
		break;
	}
	return r < 0 ? r : scan_document(scan, token, err);
}

static int scan_all(
	const struct source *source, yaml_parser_t *parser, struct clv_error *err)
{
	struct scan scan = {.source = source};
	bool is_end = false;
	int r = 0;

	while (!is_end && r >= 0) {
		yaml_token_t token;

		if (!yaml_parser_scan(parser, &token))
			return fail_to_parse(source, parser, err);
		is_end = token.type == YAML_STREAM_END_TOKEN;
		r = scan_token(&scan, &token, err);
		yaml_token_delete(&token);
	}
	return r;
}

struct walk {
	size_t n_visits;
	size_t values_max;
	bool *is_known; /* by index: the keys of the map have been compared */
};

static int check(struct walk *walk, struct clv_yaml_value value, unsigned depth,
	struct clv_error *err);

/* Whether the text has no embedded NUL, which would truncate it as a C string. */
static bool is_whole(const yaml_node_t *node)
{
	return strlen((const char *)node->data.scalar.value) == node->data.scalar.length;
}

static bool are_equal(const yaml_node_t *a, const yaml_node_t *b)
{
	return a->data.scalar.length == b->data.scalar.length &&
	       memcmp(a->data.scalar.value, b->data.scalar.value,
		       a->data.scalar.length) == 0;
}

static int check_key(struct clv_yaml_value map, size_t at, struct clv_error *err)
{
	/* indexes count from 1 */
	const yaml_node_t *nodes = map.yaml->document.nodes.start;
	const yaml_node_pair_t *pairs = node_of(map)->data.mapping.pairs.start;
	const yaml_node_t *node = &nodes[pairs[at].key - 1];
	struct clv_yaml_value key = clv_yaml_key(map, at);

	if (clv_yaml_kind(key) != CLV_YAML_TEXT || !is_whole(node))
		return clv_yaml_fail(key, err, -EINVAL, "a key must be a text");
	for (size_t i = 0; i < at; i++) {
		if (are_equal(&nodes[pairs[i].key - 1], node))
			return clv_yaml_fail(key, err, -EINVAL,
				"the key '%.40s' appears twice", clv_yaml_text(key));
	}
	return 0;
}

static int check_parts(struct walk *walk, struct clv_yaml_value value, unsigned depth,
	struct clv_error *err)
{
	bool is_map = clv_yaml_kind(value) == CLV_YAML_MAP;
	bool is_new = is_map && !walk->is_known[value.index];
	int r = 0;

	if (is_map && clv_yaml_count(value) > KEYS_MAX)
		return clv_yaml_fail(value, err, -E2BIG, "more than %u keys", KEYS_MAX);
	walk->is_known[value.index] = true;
	for (size_t i = 0; i < clv_yaml_count(value) && r >= 0; i++) {
		if (is_new)
			r = check_key(value, i, err);
		if (r >= 0)
			r = check(walk,
				is_map ? clv_yaml_at(value, i) : clv_yaml_item(value, i),
				depth + 1, err);
	}
	return r;
}

/* An alias may refer to a node that contains it; the bound on the depth ends that too. */
static int check(struct walk *walk, struct clv_yaml_value value, unsigned depth,
	struct clv_error *err)
{
	if (depth > DEPTH_MAX)
		return clv_yaml_fail(value, err, -EINVAL, TOO_DEEP, DEPTH_MAX);
	if (++walk->n_visits > walk->values_max)
		return clv_yaml_fail(value, err, -E2BIG, TOO_LARGE, walk->values_max);
	if (node_of(value)->type == YAML_SCALAR_NODE && !is_whole(node_of(value)))
		return clv_yaml_fail(
			value, err, -EINVAL, "a text must not contain a NUL byte");
	return check_parts(walk, value, depth, err);
}

static int load(const struct source *source, yaml_parser_t *parser, struct clv_yaml *yaml,
	struct clv_error *err)
{
	_cleanup_free_ bool *is_known = NULL;
	struct walk walk = {.values_max = source->values_max};
	size_t n_nodes;

	if (!yaml_parser_load(parser, &yaml->document))
		return fail_to_parse(source, parser, err);
	if (!yaml_document_get_root_node(&yaml->document))
		return clv_error_set(
			err, -EINVAL, "%s: the document is empty", source->name);
	n_nodes = (size_t)(yaml->document.nodes.top - yaml->document.nodes.start);
	walk.is_known = is_known = calloc(n_nodes + 1, sizeof(bool));
	if (!is_known)
		return clv_error_errno(err, ENOMEM, "cannot read %s", source->name);
	return check(&walk, clv_yaml_root(yaml), 0, err);
}

/* Starts at the beginning of the text. */
static int start_parser(
	const struct source *source, yaml_parser_t *ret, struct clv_error *err)
{
	if (!yaml_parser_initialize(ret))
		return clv_error_errno(err, ENOMEM, "cannot read %s", source->name);
	yaml_parser_set_input_string(ret, source->data, source->n_bytes);
	return 0;
}

static int parse(
	const struct source *source, struct clv_yaml *yaml, struct clv_error *err)
{
	yaml_parser_t parser;
	int r = start_parser(source, &parser, err);

	if (r < 0)
		return r;
	r = scan_all(source, &parser, err);
	yaml_parser_delete(&parser);
	if (r < 0)
		return r;
	r = start_parser(source, &parser, err);
	if (r < 0)
		return r;
	r = load(source, &parser, yaml, err);
	yaml_parser_delete(&parser);
	return r;
}

int clv_yaml_parse(const char *data, size_t n_bytes, const char *name,
	struct clv_yaml **ret, struct clv_error *err)
{
	return clv_yaml_parse_small(data, n_bytes, name, VALUES_MAX, ret, err);
}

int clv_yaml_parse_small(const char *data, size_t n_bytes, const char *name,
	size_t values_max, struct clv_yaml **ret, struct clv_error *err)
{
	struct clv_yaml *yaml;
	int r;

	if (n_bytes > CLV_YAML_MAX_BYTES)
		return clv_error_set(err, -E2BIG,
			"%s: the document is larger than %u bytes", name,
			CLV_YAML_MAX_BYTES);
	yaml = calloc(1, sizeof(*yaml));
	if (!yaml)
		return clv_error_errno(err, ENOMEM, "cannot read %s", name);
	snprintf(yaml->name, sizeof(yaml->name), "%s", name);
	r = parse(&(struct source){yaml->name, (const unsigned char *)data, n_bytes,
			  values_max},
		yaml, err);
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

/* Marks the nodes, by index from 1, that are keys. */
static void mark_keys(const yaml_document_t *document, bool *is_key)
{
	for (const yaml_node_t *node = document->nodes.start; node < document->nodes.top;
		node++) {
		if (node->type != YAML_MAPPING_NODE)
			continue;
		for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
			pair < node->data.mapping.pairs.top; pair++)
			is_key[pair->key] = true;
	}
}

/* libyaml allocates texts by malloc and releases them by free. */
static void set_text(yaml_node_t *node, char *text)
{
	free(node->data.scalar.value);
	node->data.scalar.value = (yaml_char_t *)text;
	node->data.scalar.length = strlen(text);
	node->data.scalar.style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
}

int clv_yaml_replace_texts(struct clv_yaml *yaml,
	int (*replace)(struct clv_yaml_value value, void *userdata, char **ret,
		struct clv_error *err),
	void *userdata, struct clv_error *err)
{
	int n = (int)(yaml->document.nodes.top - yaml->document.nodes.start);
	_cleanup_free_ bool *is_key = calloc((size_t)n + 1, sizeof(bool));
	size_t n_bytes = 0;
	int r = 0;

	if (!is_key)
		return clv_error_errno(err, ENOMEM, "cannot read %s", yaml->name);
	mark_keys(&yaml->document, is_key);
	for (int i = 1; i <= n && r >= 0; i++) {
		struct clv_yaml_value value = {yaml, i};
		char *text = NULL;

		if (is_key[i] || clv_yaml_kind(value) != CLV_YAML_TEXT)
			continue;
		r = replace(value, userdata, &text, err);
		if (r >= 0 && text)
			n_bytes += strlen(text);
		if (n_bytes > CLV_YAML_MAX_BYTES)
			r = clv_yaml_fail(value, err, -E2BIG,
				"the replaced texts exceed %u bytes", CLV_YAML_MAX_BYTES);
		if (r >= 0 && text)
			set_text(node_of(value), CLV_TAKE(text));
		free(text);
	}
	return r;
}

void clv_yaml_set_mistakes(struct clv_yaml *yaml, struct clv_yaml_mistakes *mistakes)
{
	yaml->mistakes = mistakes;
}

struct clv_yaml_mistakes *clv_yaml_mistakes(struct clv_yaml_value value)
{
	return value.yaml->mistakes;
}

const char *clv_yaml_name(const struct clv_yaml *yaml)
{
	return yaml->name;
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

bool clv_yaml_is_block(struct clv_yaml_value value)
{
	const yaml_node_t *node = node_of(value);

	return node->type == YAML_SCALAR_NODE &&
	       node->data.scalar.style == YAML_LITERAL_SCALAR_STYLE;
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

int clv_yaml_prefix_position(struct clv_yaml_value value, struct clv_error *err)
{
	const yaml_mark_t *mark = &node_of(value)->start_mark;
	int code = clv_error_prefix(
		err, "%s:%zu:%zu", value.yaml->name, mark->line + 1, mark->column + 1);

	if (err)
		clv_text_make_printable(err->msg);
	return code;
}

int clv_yaml_fail(struct clv_yaml_value value, struct clv_error *err, int code,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	clv_error_setv(err, code, format, args);
	va_end(args);
	clv_yaml_prefix_position(value, err);
	return code;
}
