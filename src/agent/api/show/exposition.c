/* SPDX-License-Identifier: Apache-2.0 */
/* Writes metrics in the text formats of Prometheus and OpenMetrics. */
#include "agent/api/show/exposition.h"

#include "base/cleanup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_BELOW 1e15 /* whole numbers below this are written as integers */

static const char *const type_names[] = {"counter", "gauge", "histogram", "info"};
static const char *const endings[] = {"_total", "", "", "_info"};

void clv_exposition_family(struct clv_exposition *to, const struct clv_family *family)
{
	/* Prometheus' format has the suffix in the family's name, and no type "info". */
	const char *ending = to->is_open_metrics ? "" : endings[family->type];
	const char *type = !to->is_open_metrics && family->type == CLV_METRIC_INFO
				   ? "gauge"
				   : type_names[family->type];

	fprintf(to->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", family->name, ending,
		family->help, family->name, ending, type);
	if (to->is_open_metrics && family->unit[0] != '\0')
		fprintf(to->out, "# UNIT %s %s\n", family->name, family->unit);
}

/* A scrape has some ten thousand samples: the functions below avoid stdio's locks, and
 * printf where they can. */

static void put_text(FILE *out, const char *text)
{
	fwrite_unlocked(text, 1, strlen(text), out);
}

static char *append_escaped(char *to, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\' || *text == '\n')
			*to++ = '\\';
		*to++ = *text == '\n' ? 'n' : *text;
	}
	*to = '\0';
	return to;
}

static bool is_empty(const struct clv_label *label)
{
	return !label->value || label->value[0] == '\0';
}

char *clv_exposition_labels(const struct clv_labels *labels)
{
	size_t room = 1;
	char *text, *end;

	/* Each character of a value may be escaped. */
	for (size_t i = 0; i < CLV_LABELS_MAX; i++) {
		const struct clv_label *label = &labels->items[i];

		if (!is_empty(label))
			room += strlen(label->name) + 2 * strlen(label->value) +
				sizeof(",=\"\"");
	}
	text = malloc(room);
	if (!text)
		return NULL;
	end = stpcpy(text, "");
	for (size_t i = 0; i < CLV_LABELS_MAX; i++) {
		const struct clv_label *label = &labels->items[i];

		if (is_empty(label))
			continue;
		end = stpcpy(end, end > text ? "," : "");
		end = stpcpy(stpcpy(end, label->name), "=\"");
		end = stpcpy(append_escaped(end, label->value), "\"");
	}
	return text;
}

static bool has_label(const struct clv_labels *labels)
{
	for (size_t i = 0; labels && i < CLV_LABELS_MAX; i++) {
		if (!is_empty(&labels->items[i]))
			return true;
	}
	return false;
}

/* bound: the upper bound of a histogram's bucket, or NULL. */
static void put_labels(FILE *out, const struct clv_labels *labels, const char *bound)
{
	bool has_any = has_label(labels);
	_cleanup_free_ char *own = NULL;
	const char *text = has_any ? labels->text : NULL;

	if (!has_any && !bound)
		return;
	if (has_any && !text)
		text = own = clv_exposition_labels(labels);
	putc_unlocked('{', out);
	put_text(out, text ? text : "");
	if (bound) {
		put_text(out, has_any ? ",le=\"" : "le=\"");
		put_text(out, bound);
		putc_unlocked('"', out);
	}
	putc_unlocked('}', out);
}

/* Avoids printf for whole numbers, which most values are. */
static void put_value(FILE *out, double value)
{
	char digits[24], *at = digits + sizeof(digits);
	uint64_t rest = value >= 0 && value < EXACT_BELOW ? (uint64_t)value : 0;

	if (!(value >= 0 && value < EXACT_BELOW) || (double)rest != value ||
		(rest == 0 && signbit(value))) {
		fprintf(out, "%.15g", value);
		return;
	}
	do
		*--at = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	fwrite_unlocked(at, 1, (size_t)(digits + sizeof(digits) - at), out);
}

static void put_sample(struct clv_exposition *to, const char *name, const char *ending,
	const struct clv_labels *labels, const char *bound, double value)
{
	put_text(to->out, name);
	put_text(to->out, ending);
	put_labels(to->out, labels, bound);
	putc_unlocked(' ', to->out);
	put_value(to->out, value);
	putc_unlocked('\n', to->out);
}

void clv_exposition_value(struct clv_exposition *to, const struct clv_family *family,
	const struct clv_labels *labels, double value)
{
	put_sample(to, family->name, endings[family->type], labels, NULL, value);
}

static void make_bounds(struct clv_exposition *to, double scale)
{
	if (to->bounds_scale == scale)
		return;
	to->bounds_scale = scale;
	for (uint32_t i = 0; i < CLV_HISTOGRAM_BOUNDS; i++) {
		double value = (double)clv_histogram_bounds_ns[i] * scale;
		/* OpenMetrics wants bounds in floating-point form: 1.0, not 1. */
		bool is_whole = value == (double)(int64_t)value;

		snprintf(to->bounds[i], sizeof(to->bounds[i]), is_whole ? "%.1f" : "%.9g",
			value);
	}
}

void clv_exposition_histogram(struct clv_exposition *to, const struct clv_family *family,
	const struct clv_labels *labels, const uint64_t *counts, uint64_t sum,
	double scale)
{
	uint64_t n = 0;

	make_bounds(to, scale);
	for (uint32_t i = 0; i < CLV_HISTOGRAM_BOUNDS; i++) {
		n += counts[i];
		put_sample(to, family->name, "_bucket", labels, to->bounds[i], (double)n);
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
