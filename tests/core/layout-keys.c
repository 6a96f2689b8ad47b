/* SPDX-License-Identifier: Apache-2.0 */
/* "layout-keys keys" prints each key of a layout, "MAP KEY required|optional" a line,
 * from the tables by which it is read.  "layout-keys parse" reads layouts from stdin,
 * each with its length in bytes in a line before it, and answers each with a line:
 * "good", or what is wrong. */
#include "core/layout/layout-keys.h"
#include "base/error.h"
#include "core/layout/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_keys(void)
{
	for (size_t i = 0; i < clv_layout_n_maps; i++) {
		const struct clv_layout_map *map = &clv_layout_maps[i];

		for (size_t k = 0; k < map->n_fields; k++)
			printf("%s %s %s\n", map->name, map->fields[k].key,
				map->fields[k].is_required ? "required" : "optional");
	}
}

static void answer(const char *text, size_t n_bytes)
{
	struct clv_layout layout;
	struct clv_error err = {0};

	if (clv_layout_parse(text, n_bytes, "layout", &layout, &err) < 0) {
		puts(err.msg);
		return;
	}
	puts("good");
	clv_layout_clear(&layout);
}

static int answer_all(void)
{
	static char text[CLV_YAML_MAX_BYTES];
	char line[32];

	while (fgets(line, sizeof(line), stdin)) {
		size_t n_bytes = strtoul(line, NULL, 10);

		if (n_bytes > sizeof(text) || fread(text, 1, n_bytes, stdin) != n_bytes)
			return 1;
		answer(text, n_bytes);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "keys") == 0) {
		print_keys();
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "parse") == 0)
		return answer_all();
	fprintf(stderr, "usage: layout-keys keys|parse\n");
	return 64;
}
