/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/exposition.h"

#include <inttypes.h>
#include <string.h>

static const char *const type_names[] = {"counter", "gauge", "histogram", "info"};
static const char *const endings[] = {"_total", "", "", "_info"};

void clv_exposition_family(struct clv_exposition *to, const struct clv_family *family)
{
	/* Elsewhere an ending is part of the name, and an info a gauge. */
	const char *ending = to->is_open_metrics ? "" : endings[family->type];
	const char *type = !to->is_open_metrics && family->type == CLV_METRIC_INFO
				   ? "gauge"
				   : type_names[family->type];

	fprintf(to->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", family->name, ending,
		family->help, family->name, ending, type);
	if (to->is_open_metrics && family->unit[0] != '\0')
		fprintf(to->out, "# UNIT %s %s\n", family->name, family->unit);
}

static void put_escaped(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\n') {
			fputs("\\n", out);
			continue;
		}
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
}

/* bound: of a histogram's bucket, or NULL. */
static void put_labels(FILE *out, const struct clv_labels *labels, const char *bound)
{
	char before = '{';

	for (size_t i = 0; labels && i < CLV_LABELS_MAX; i++) {
		const struct clv_label *label = &labels->items[i];

		if (!label->value || label->value[0] == '\0')
			continue;
		fprintf(out, "%c%s=\"", before, label->name);
		put_escaped(out, label->value);
		putc('"', out);
		before = ',';
	}
	if (bound) {
		fprintf(out, "%cle=\"%s\"", before, bound);
		before = ',';
	}
	if (before == ',')
		putc('}', out);
}

static void put_sample(struct clv_exposition *to, const char *name, const char *ending,
	const struct clv_labels *labels, const char *bound, double value)
{
	fprintf(to->out, "%s%s", name, ending);
	put_labels(to->out, labels, bound);
	fprintf(to->out, " %.15g\n", value);
}

void clv_exposition_value(struct clv_exposition *to, const struct clv_family *family,
	const struct clv_labels *labels, double value)
{
	put_sample(to, family->name, endings[family->type], labels, NULL, value);
}

void clv_exposition_histogram(struct clv_exposition *to, const struct clv_family *family,
	const struct clv_labels *labels, const uint64_t *counts, uint64_t sum,
	double scale)
{
	uint64_t n = 0;
	char bound[32];

	for (uint32_t i = 0; i < CLV_HISTOGRAM_BOUNDS; i++) {
		double value = (double)clv_histogram_bounds_ns[i] * scale;
		/* OpenMetrics has bounds look like what they are: not whole numbers. */
		bool is_whole = value == (double)(int64_t)value;

		n += counts[i];
		snprintf(bound, sizeof(bound), is_whole ? "%.1f" : "%.9g", value);
		put_sample(to, family->name, "_bucket", labels, bound, (double)n);
	}
	n += counts[CLV_HISTOGRAM_BOUNDS];
	put_sample(to, family->name, "_bucket", labels, "+Inf", (double)n);
	put_sample(to, family->name, "_sum", labels, NULL, (double)sum * scale);
	put_sample(to, family->name, "_count", labels, NULL, (double)n);
}

void clv_exposition_end(struct clv_exposition *to)
{
	if (to->is_open_metrics)
		fputs("# EOF\n", to->out);
}
