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

bool clv_import_is_configmap(struct clv_yaml_value root)
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

int clv_import_parse_at(const char *text, size_t n_bytes, size_t n_lines_before,
	const char *name, struct clv_yaml **ret, struct clv_error *err)
{
	_cleanup_free_ char *padded = malloc(n_lines_before + n_bytes + 1);

	if (!padded)
		return clv_error_errno(err, ENOMEM, "cannot read %s", name);
	memset(padded, '\n', n_lines_before);
	memcpy(padded + n_lines_before, text, n_bytes);
	return clv_yaml_parse(padded, n_lines_before + n_bytes, name, ret, err);
}

int clv_import_parse_entry(
	struct clv_yaml_value entry, struct clv_yaml **ret_content, struct clv_error *err)
{
	const char *text = clv_yaml_text(entry);
	char name[128];

	if (text[0] == '\0')
		return clv_yaml_fail(entry, err, -EINVAL,
			"a file's content is expected here, as text");
	/* Columns count from the margin of the block. */
	if (clv_yaml_is_block(entry))
		return clv_import_parse_at(text, strlen(text), clv_yaml_line(entry),
			clv_yaml_name(entry.yaml), ret_content, err);
	snprintf(name, sizeof(name), "%.90s (the text in line %u)",
		clv_yaml_name(entry.yaml), clv_yaml_line(entry));
	return clv_yaml_parse(text, strlen(text), name, ret_content, err);
}

int clv_import_unwrap(struct clv_yaml_value root, struct clv_import_options *options,
	struct clv_yaml **ret_content, struct clv_error *err)
{
	struct clv_yaml_value data, entry;
	int r;

	if (!clv_import_is_configmap(root))
		return 0;
	if (!clv_yaml_find(root, "data", &data))
		return clv_yaml_fail(
			root, err, -EINVAL, "this ConfigMap is empty: it has no 'data'");
	if (clv_yaml_kind(data) != CLV_YAML_MAP)
		return clv_yaml_fail(data, err, -EINVAL,
			"names of files and their contents are expected here");
	r = clv_import_choose_key(
		data, take_entry(data, options), "entry of the ConfigMap", &entry, err);
	return r < 0 ? r : clv_import_parse_entry(entry, ret_content, err);
}
