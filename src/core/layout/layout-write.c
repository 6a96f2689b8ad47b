/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a layout as YAML in the form that users write.  Free text goes in double quotes
 * with the escapes of JSON, which YAML shares. */
#include "core/layout/layout.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_text(FILE *to, const char *text)
{
	fputc('"', to);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(to, "\\u%04x", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}

static void write_numbers(FILE *to, const char *key, const uint32_t *numbers, size_t n)
{
	fprintf(to, ", %s: [", key);
	for (size_t i = 0; i < n; i++)
		fprintf(to, "%s%" PRIu32, i ? ", " : "", numbers[i]);
	fputc(']', to);
}

static void write_parts(FILE *to, const struct clv_layout_partition *partition)
{
	fputs(", parts: [", to);
	for (size_t i = 0; i < partition->n_parts; i++) {
		int32_t start = CLV_LAYOUT_PART_START(partition->parts[i]);

		fprintf(to, "%s%" PRIu32 "c", i ? ", " : "",
			CLV_LAYOUT_PART_SLICES(partition->parts[i]));
		if (start >= 0)
			fprintf(to, "@%" PRId32, start);
	}
	fputc(']', to);
}

static const char *key_of(const char *name)
{
	if (clv_is_given_name(name))
		return "name";
	return clv_is_pci_address(name) ? "pci" : "uuid";
}

/* The key that all names have, or `name`, which accepts names of any key. */
static const char *key_of_all(const struct clv_selector *select)
{
	const char *key = key_of(select->names[0]);

	for (size_t i = 1; i < select->n_names; i++) {
		if (strcmp(key_of(select->names[i]), key) != 0)
			return "name";
	}
	return key;
}

static void write_names(FILE *to, const struct clv_selector *select, const char *comma)
{
	static const char *const keys[] = {"name", "uuid", "pci"};
	size_t key = 0;

	for (size_t begin = 0, end; begin < select->n_names; begin = end) {
		end = clv_selector_end_of_key(select, begin);
		fprintf(to, "%s%s: [", begin > 0 ? ", " : comma,
			select->n_more > 0 ? keys[key++] : key_of_all(select));
		for (size_t i = begin; i < end; i++) {
			fputs(i > begin ? ", " : "", to);
			write_text(to, select->names[i]);
		}
		fputc(']', to);
	}
}

/* "select: {...}", without a comma in front of the first. */
static void write_select(FILE *to, const struct clv_selector *select)
{
	const char *comma = "";

	fputs("  - select: {", to);
	if (select->vendor[0] != '\0') {
		fprintf(to, "vendor: %s", select->vendor);
		comma = ", ";
	}
	if (select->model[0] != '\0') {
		fprintf(to, "%smodel: ", comma);
		write_text(to, select->model);
		comma = ", ";
	}
	write_names(to, select, comma);
	if (select->n_names > 0)
		comma = ", ";
	for (size_t i = 0; i < select->n_indexes; i++) {
		fputs(i ? ", " : comma, to);
		fprintf(to, "%s%" PRIu32 "%s", i ? "" : "index: [", select->indexes[i],
			i + 1 == select->n_indexes ? "]" : "");
		comma = ", ";
	}
	if (select->is_homogeneous) {
		fprintf(to, "%shomogeneous: true", comma);
		comma = ", ";
	}
	if (select->is_optional)
		fprintf(to, "%soptional: true", comma);
	fputs("}\n", to);
}

/* Uses the largest unit that divides the number, so that it parses to the same value. */
static void write_bytes(FILE *to, uint64_t bytes)
{
	static const char units[] = "KMGT";
	size_t n = 0;

	while (n < sizeof(units) - 1 && bytes > 0 && bytes % 1024 == 0) {
		bytes /= 1024;
		n++;
	}
	fprintf(to, ", memory: %" PRIu64 "%.*s", bytes, n > 0, n ? &units[n - 1] : "");
}

static void write_share(FILE *to, const struct clv_layout_share *share)
{
	const struct clv_share_range *range = &share->request.range;
	char fraction[16], most[16];

	fputs("{name: ", to);
	write_text(to, share->name);
	if (range->most_ppm > 0) {
		clv_units_format_fraction(range->least_ppm, fraction);
		clv_units_format_fraction(range->most_ppm, most);
		fprintf(to, ", share: %s..%s", fraction, most);
	} else if (share->request.compute_ppm > 0) {
		clv_units_format_fraction(share->request.compute_ppm, fraction);
		fprintf(to, ", share: %s", fraction);
	}
	if (share->request.memory_bytes > 0)
		write_bytes(to, share->request.memory_bytes);
	if (share->request.cap_ppm > 0) {
		clv_units_format_fraction(share->request.cap_ppm, fraction);
		fprintf(to, ", cap: %s", fraction);
	}
	if (share->request.class != CLV_CLASS_NORMAL)
		fprintf(to, ", class: %s", clv_class_to_string(share->request.class));
	fputc('}', to);
}

static void write_shares(
	FILE *to, const char *before, const struct clv_layout_shares *shares)
{
	if (shares->n_equal > 0)
		fprintf(to, "%sshares: %" PRIu32, before, shares->n_equal);
	if (shares->n == 0)
		return;
	fprintf(to, "%sshares: [", before);
	for (size_t i = 0; i < shares->n; i++) {
		fputs(i ? ", " : "", to);
		write_share(to, &shares->items[i]);
	}
	fputc(']', to);
}

static void write_partition(FILE *to, const struct clv_layout_partition *partition)
{
	fputs("      - {profile: ", to);
	write_text(to, partition->profile);
	if (partition->n_starts > 0)
		write_numbers(to, "start", partition->starts, partition->n_starts);
	else if (partition->count != 1)
		fprintf(to, ", count: %" PRIu32, partition->count);
	if (partition->n_parts > 0)
		write_parts(to, partition);
	write_shares(to, ", ", &partition->shares);
	fputs("}\n", to);
}

static void write_vf(FILE *to, uint32_t count, const struct clv_vf_quota *quota)
{
	bool has_whole_ms = quota->preempt_timeout_us % 1000 == 0;
	const struct {
		const char *key;
		uint64_t value;
		const char *unit;
	} numbers[] = {
		{"exec-quantum", quota->exec_quantum_ms, "ms"},
		{"preempt-timeout", quota->preempt_timeout_us / (has_whole_ms ? 1000 : 1),
			has_whole_ms ? "ms" : "us"},
		{"contexts", quota->contexts, ""},
		{"doorbells", quota->doorbells, ""},
	};
	const struct {
		const char *key;
		const char *value;
	} texts[] = {
		{"priority", quota->priority},
		{"type", quota->type},
		{"driver", quota->driver},
	};

	fprintf(to, "    vf: {count: %" PRIu32, count);
	if (quota->memory_bytes > 0)
		write_bytes(to, quota->memory_bytes);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(numbers); i++) {
		if (numbers[i].value > 0)
			fprintf(to, ", %s: %" PRIu64 "%s", numbers[i].key,
				numbers[i].value, numbers[i].unit);
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(texts); i++) {
		if (texts[i].value[0] != '\0') {
			fprintf(to, ", %s: ", texts[i].key);
			write_text(to, texts[i].value);
		}
	}
	fputs("}\n", to);
}

static void write_rule(FILE *to, const struct clv_layout_rule *rule)
{
	write_select(to, &rule->select);
	if (rule->has_mig)
		fprintf(to, "    mig: %s\n", rule->mig ? "on" : "off");
	if (rule->has_compute_mode)
		fprintf(to, "    compute-mode: %s\n",
			clv_compute_mode_to_string(rule->compute_mode));
	if (rule->memory_mode != 0)
		fprintf(to, "    memory-mode: %s\n",
			clv_memory_mode_to_string(
				(enum clv_memory_mode)rule->memory_mode));
	if (rule->has_vf)
		write_vf(to, rule->vf_count, &rule->vf_quota);
	if (rule->has_partitions)
		fprintf(to, "    partitions:%s\n", rule->n_partitions ? "" : " []");
	for (size_t i = 0; i < rule->n_partitions; i++)
		write_partition(to, &rule->partitions[i]);
	if (rule->shares.n_equal > 0 || rule->shares.n > 0) {
		write_shares(to, "    ", &rule->shares);
		fputc('\n', to);
	}
	if (rule->preserve)
		fputs("    preserve: true\n", to);
}

int clv_layout_write(const struct clv_layout *layout, char **ret, struct clv_error *err)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	bool is_whole;

	if (!to)
		return clv_error_errno(err, ENOMEM, "cannot write a layout");
	fprintf(to, "version: %d\n", CLV_LAYOUT_VERSION);
	if (layout->on_busy != CLV_ON_BUSY_FAIL)
		fprintf(to, "on-busy: %s\n", clv_on_busy_to_string(layout->on_busy));
	fprintf(to, "devices:%s\n", layout->n_rules ? "" : " []");
	for (size_t i = 0; i < layout->n_rules; i++)
		write_rule(to, &layout->rules[i]);
	is_whole = !ferror(to);
	if (fclose(to) != 0 || !is_whole || !text) {
		free(text);
		return clv_error_errno(err, ENOMEM, "cannot write a layout");
	}
	*ret = text;
	return 0;
}
