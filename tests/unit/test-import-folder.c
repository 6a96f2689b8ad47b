/* SPDX-License-Identifier: Apache-2.0 */
/* Files published by the tools' own projects: every configuration of every file in the
 * folder CLEAVE_IMPORT_FILES has to import as a valid layout. Skipped without such a
 * folder. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/yaml.h"
#include "import/import.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIP 77

static unsigned n_imports, n_failures;

static void fail(const char *path, const char *select, const char *message)
{
	printf("not ok - %s %s: %s\n", path, select ? select : "", message);
	n_failures++;
}

static void check_layout(
	const char *path, const char *select, const struct clv_layout *layout)
{
	struct clv_layout again = {0};
	struct clv_error err = {0};
	char *text;

	if (clv_layout_write(layout, &text, &err) < 0) {
		fail(path, select, err.msg);
		return;
	}
	if (clv_layout_parse(text, strlen(text), "written", &again, &err) < 0)
		fail(path, select, err.msg);
	clv_layout_clear(&again);
	free(text);
}

static void try_import(
	const char *path, const struct clv_yaml *document, const char *select)
{
	struct clv_import_options options = {.select = select};
	struct clv_import import;
	struct clv_error err = {0};

	n_imports++;
	if (clv_import(NULL, document, &options, &import, &err) < 0) {
		fail(path, select, err.msg);
		return;
	}
	check_layout(path, select, &import.layout);
	clv_import_clear(&import);
}

static void try_document(const char *path, const struct clv_yaml *document)
{
	static const char *const keys[] = {"mig-configs", "gpu-config-profiles"};
	struct clv_yaml_value map;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(keys); i++) {
		if (!clv_yaml_find(clv_yaml_root(document), keys[i], &map))
			continue;
		for (size_t j = 0; j < clv_yaml_count(map); j++)
			try_import(path, document, clv_yaml_text(clv_yaml_key(map, j)));
		return;
	}
	try_import(path, document, NULL);
}

static void try_file(const char *path)
{
	struct clv_error err = {0};
	struct clv_yaml *document;

	if (clv_yaml_parse_file(path, &document, &err) < 0) {
		fail(path, NULL, err.msg);
		return;
	}
	try_document(path, document);
	clv_yaml_free(document);
}

int main(void)
{
	const char *folder = getenv("CLEAVE_IMPORT_FILES");
	DIR *dir = folder ? opendir(folder) : NULL;
	struct dirent *entry;

	if (!dir) {
		printf("1..0 # SKIP CLEAVE_IMPORT_FILES names no folder\n");
		return SKIP;
	}
	while ((entry = readdir(dir))) {
		char path[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		try_file(path);
	}
	closedir(dir);
	printf("%s - %u imports of %s\n1..%u\n", n_failures ? "not ok" : "ok", n_imports,
		folder, n_failures + 1);
	return n_failures || n_imports == 0;
}
