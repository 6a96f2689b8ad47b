/* SPDX-License-Identifier: Apache-2.0 */
/* Layout files of other tools. The first byte selects the format or "guess it"; where a
 * file has several configurations, each of the first ones is read. */
#include "fuzz.h"

#include "base/error.h"
#include "base/yaml.h"
#include "import/import.h"

#include <errno.h>

#define SELECTED_MAX 8

static void check_text(const char *text)
{
	CLV_MUST(text[0] != '\0');
	for (; *text; text++)
		CLV_MUST((unsigned char)*text >= ' ' && *text != 127);
}

static void check_partition(const struct clv_layout_partition *partition)
{
	CLV_MUST(memchr(partition->profile, '\0', sizeof(partition->profile)));
	CLV_MUST(partition->profile[0] >= '0' && partition->profile[0] <= '9');
	CLV_MUST(partition->count > 0 && partition->n_starts == 0);
	CLV_MUST(partition->line > 0);
	for (size_t i = 0; i < partition->n_parts; i++)
		CLV_MUST(partition->parts[i] > 0 && partition->parts[i] < 8);
}

static void check_rule(const struct clv_layout_rule *rule)
{
	CLV_MUST(rule->line > 0);
	CLV_MUST(strcmp(rule->select.vendor, "nvidia") == 0 ||
		 strcmp(rule->select.vendor, "amd") == 0);
	CLV_MUST(!rule->n_partitions || (rule->has_partitions && rule->mig));
	CLV_MUST(rule->has_compute_mode == (rule->memory_mode != 0));
	CLV_MUST(rule->has_mig || rule->has_compute_mode || rule->shares.n_equal > 0);
	for (size_t i = 0; i < rule->n_partitions; i++)
		check_partition(&rule->partitions[i]);
}

/* An imported layout can be written and read again. */
static void check_layout(const struct clv_layout *layout)
{
	struct clv_layout again = {0};
	char *text;

	CLV_MUST(layout->n_rules > 0);
	for (size_t i = 0; i < layout->n_rules; i++)
		check_rule(&layout->rules[i]);
	if (clv_layout_write(layout, &text, NULL) < 0)
		return;
	/* The imported layout may be larger than a layout file may be. */
	if (strlen(text) <= CLV_YAML_MAX_BYTES) {
		int r = clv_layout_parse(text, strlen(text), "again", &again, NULL);

		CLV_MUST(r == 0 || r == -E2BIG);
		CLV_MUST(r < 0 || again.n_rules == layout->n_rules);
	}
	clv_layout_clear(&again);
	free(text);
}

static void try_import(
	const char *format, const struct clv_yaml *document, const char *select)
{
	struct clv_import_options options = {.select = select};
	struct clv_import import = {0};
	struct clv_error err = {0};
	int r = clv_import(format, document, &options, &import, &err);

	if (r < 0) {
		CLV_MUST(err.code == r && !import.remarks && !import.layout.rules);
		check_text(err.msg);
		return;
	}
	CLV_MUST(r == 0 && err.code == 0 && import.format);
	check_layout(&import.layout);
	for (size_t i = 0; i < import.n_remarks; i++) {
		CLV_MUST(import.remarks[i].line > 0);
		check_text(import.remarks[i].text);
	}
	clv_import_clear(&import);
}

static void try_selections(const char *format, const struct clv_yaml *document)
{
	static const char *const keys[] = {
		"mig-configs", "gpu-config-profiles", "services", "data"};
	struct clv_yaml_value map;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!clv_yaml_find(clv_yaml_root(document), keys[i], &map) ||
			clv_yaml_kind(map) != CLV_YAML_MAP)
			continue;
		for (size_t j = 0; j < clv_yaml_count(map) && j < SELECTED_MAX; j++)
			try_import(format, document, clv_yaml_text(clv_yaml_key(map, j)));
	}
}

static const char *format_of(uint8_t byte)
{
	for (size_t i = 0; i < clv_import_n_formats; i++) {
		if (byte == '0' + i)
			return clv_import_formats[i].name;
	}
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_yaml *document;
	const char *format;

	if (n_bytes == 0 || clv_import_parse((const char *)data + 1, n_bytes - 1, "input",
				    &document, NULL) < 0)
		return 0;
	format = format_of(data[0]);
	try_import(format, document, NULL);
	try_import(format, document, "mig");
	try_selections(format, document);
	clv_yaml_free(document);
	return 0;
}
