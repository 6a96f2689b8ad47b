/* SPDX-License-Identifier: Apache-2.0 */
/* Files of several YAML documents: manifests of Kubernetes have the configuration in one
 * of them. */
#include "import/import.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "import/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Each is read by itself; manifests have some ten. */
#define DOCUMENTS_MAX 64u

/* A part of the text that is one document. */
struct part {
	size_t start, n_bytes;
	unsigned n_lines_before;
};

struct parts {
	const char *text;
	size_t n_bytes;
	const char *name; /* of the file */
	struct part *items;
	size_t n;
};

/* In YAML a line that begins with "---" separates documents, wherever it is. */
static bool is_separator(const char *line, size_t n_bytes)
{
	return n_bytes >= 3 && memcmp(line, "---", 3) == 0 &&
	       (n_bytes == 3 || strchr(" \t\r", line[3]));
}

/* Comments, directives and the end of a document are no document of their own. */
static bool has_content(const char *line, size_t n_bytes)
{
	size_t at = 0;

	if (n_bytes >= 3 && memcmp(line, "...", 3) == 0)
		return false;
	while (at < n_bytes && strchr(" \t\r", line[at]))
		at++;
	return at < n_bytes && line[at] != '#' && line[0] != '%';
}

/* Ends the current part before at, and begins the next one there. */
static int end_part(struct parts *parts, struct part *current, size_t at, unsigned line)
{
	struct part *part =
		parts->n < DOCUMENTS_MAX ? CLV_APPEND(parts->items, parts->n) : NULL;

	if (!part)
		return parts->n < DOCUMENTS_MAX ? -ENOMEM : -E2BIG;
	*part = *current;
	part->n_bytes = at - current->start;
	current->start = at;
	current->n_lines_before = line;
	return 0;
}

static int split(struct parts *parts)
{
	struct part current = {0};
	bool is_document = false, has_begun = false;
	unsigned line = 0;
	int r = 0;

	for (size_t at = 0; at < parts->n_bytes && r >= 0; line++) {
		const char *text = parts->text + at;
		const char *end = memchr(text, '\n', parts->n_bytes - at);
		size_t n_bytes = end ? (size_t)(end - text) : parts->n_bytes - at;

		if (is_separator(text, n_bytes)) {
			if (is_document)
				r = end_part(parts, &current, at, line);
			else if (has_begun) /* an empty document */
				current = (struct part){at, 0, line};
			has_begun = true;
			is_document = has_content(text + 3, n_bytes - 3);
		} else {
			is_document |= has_content(text, n_bytes);
		}
		at += n_bytes + (end != NULL);
	}
	if (r >= 0 && (is_document || parts->n == 0))
		r = end_part(parts, &current, parts->n_bytes, line);
	return r;
}

static bool has_known_entry(struct clv_yaml_value root)
{
	struct clv_yaml_value data;
	bool is_known = false;

	if (!clv_import_is_configmap(root) || !clv_yaml_find(root, "data", &data) ||
		clv_yaml_kind(data) != CLV_YAML_MAP)
		return false;
	for (size_t i = 0; i < clv_yaml_count(data) && !is_known; i++) {
		_cleanup_yaml_ struct clv_yaml *content = NULL;

		is_known = clv_import_parse_entry(clv_yaml_at(data, i), &content, NULL) >=
				   0 &&
			   clv_import_is_known(clv_yaml_root(content));
	}
	return is_known;
}

/* Parses the one document that can be imported.  Others may be anything, but valid. */
static int find(const struct parts *parts, struct clv_yaml **ret, struct clv_error *err)
{
	_cleanup_yaml_ struct clv_yaml *found = NULL;

	for (size_t i = 0; i < parts->n; i++) {
		const struct part *part = &parts->items[i];
		_cleanup_yaml_ struct clv_yaml *document = NULL;
		int r = clv_import_parse_at(parts->text + part->start, part->n_bytes,
			part->n_lines_before, parts->name, &document, err);

		if (r < 0)
			return r;
		if (!clv_import_is_known(clv_yaml_root(document)) &&
			!has_known_entry(clv_yaml_root(document)))
			continue;
		if (found)
			return clv_yaml_fail(clv_yaml_root(document), err, -EINVAL,
				"a second document that can be imported, after the one "
				"in line %u: put each into a file of its own",
				clv_yaml_line(clv_yaml_root(found)));
		found = document;
		document = NULL;
	}
	if (!found)
		return clv_error_set(err, -EINVAL,
			"%s: none of its %zu documents can be imported: cleave help "
			"import lists the formats",
			parts->name, parts->n);
	*ret = found;
	found = NULL;
	return 0;
}

int clv_import_parse(const char *text, size_t n_bytes, const char *name,
	struct clv_yaml **ret, struct clv_error *err)
{
	struct parts parts = {.text = text, .n_bytes = n_bytes, .name = name};
	int r = split(&parts);

	if (r == -E2BIG)
		r = clv_error_set(
			err, r, "%s: more than %u documents", name, DOCUMENTS_MAX);
	else if (r < 0)
		r = clv_error_errno(err, -r, "cannot read %s", name);
	else if (parts.n == 1)
		r = clv_import_parse_at(text + parts.items[0].start,
			parts.items[0].n_bytes, parts.items[0].n_lines_before, name, ret,
			err);
	else
		r = find(&parts, ret, err);
	free(parts.items);
	return r;
}
