/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes ConfigMaps, whose entries hold configuration files as text: each is a
 * document of its own. */
#include "import/internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "import/import.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_configmap(struct clv_yaml_value root)
{
	struct clv_yaml_value kind;

	return clv_yaml_find(root, "kind", &kind) &&
	       strcmp(clv_yaml_text(kind), "ConfigMap") == 0;
}

/* Removes "ENTRY" or "ENTRY/" from the front of options->select and returns the name of
 * the entry.  A ConfigMap with one entry does not need it. */
static const char *take_entry(
	struct clv_yaml_value data, struct clv_import_options *options)
{
	const char *select = options->select;

	for (size_t i = 0; select && i < clv_yaml_count(data); i++) {
		const char *name = clv_yaml_text(clv_yaml_key(data, i));
		size_t length = strlen(name);

		if (length == 0 || strncmp(select, name, length) != 0)
			continue;
		if (select[length] != '\0' && select[length] != '/')
			continue;
		options->select = select[length] ? select + length + 1 : NULL;
		return name;
	}
	return clv_yaml_count(data) > 1 ? select : NULL;
}

/* Pads the text with empty lines, so that line numbers in messages are those of the file.
 * Columns count from the margin of the block. */
static int parse_block(
	struct clv_yaml_value entry, struct clv_yaml **ret_content, struct clv_error *err)
{
	const char *text = clv_yaml_text(entry);
	size_t n_lines = clv_yaml_line(entry), n_bytes = strlen(text);
	_cleanup_free_ char *padded = malloc(n_lines + n_bytes + 1);

	if (!padded)
		return clv_import_no_memory(entry, err);
	memset(padded, '\n', n_lines);
	memcpy(padded + n_lines, text, n_bytes + 1);
	return clv_yaml_parse(
		padded, n_lines + n_bytes, clv_yaml_name(entry.yaml), ret_content, err);
}

static int parse_entry(
	struct clv_yaml_value entry, struct clv_yaml **ret_content, struct clv_error *err)
{
	const char *text = clv_yaml_text(entry);
	char name[128];

	if (text[0] == '\0')
		return clv_yaml_fail(entry, err, -EINVAL,
			"a file's content is expected here, as text");
	if (clv_yaml_is_block(entry))
		return parse_block(entry, ret_content, err);
	snprintf(name, sizeof(name), "%.90s (the text in line %u)",
		clv_yaml_name(entry.yaml), clv_yaml_line(entry));
	return clv_yaml_parse(text, strlen(text), name, ret_content, err);
}

int clv_import_unwrap(struct clv_yaml_value root, struct clv_import_options *options,
	struct clv_yaml **ret_content, struct clv_error *err)
{
	struct clv_yaml_value data, entry;
	int r;

	if (!is_configmap(root))
		return 0;
	if (!clv_yaml_find(root, "data", &data))
		return clv_yaml_fail(
			root, err, -EINVAL, "this ConfigMap is empty: it has no 'data'");
	if (clv_yaml_kind(data) != CLV_YAML_MAP)
		return clv_yaml_fail(data, err, -EINVAL,
			"names of files and their contents are expected here");
	r = clv_import_choose_key(
		data, take_entry(data, options), "entry of the ConfigMap", &entry, err);
	return r < 0 ? r : parse_entry(entry, ret_content, err);
}
