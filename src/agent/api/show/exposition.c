/* SPDX-License-Identifier: Apache-2.0 */
/* Writes metrics in the text formats of Prometheus and OpenMetrics. */
#include "agent/api/show/exposition.h"

#include "base/cleanup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_BELOW 1e15 /* whole numbers below this are written as integers */
#define VALUE_MAX 32u    /* bytes of any number */
#define FIRST_ROOM 65536u

static const char *const type_names[] = {"counter", "gauge", "histogram", "info"};
static const char *const endings[] = {"_total", "", "", "_info"};

/* A scrape has some hundred thousand samples.  With a stream in memory (open_memstream)
 * they took ten times as long. */

/* Returns where n more bytes may be written; NULL: out of memory. */
static char *reserve(struct clv_exposition *to, size_t n)
{
	size_t n_room = to->n_room ? to->n_room : FIRST_ROOM;
	char *text;

	while (n_room - to->n_bytes < n)
		n_room *= 2;
	if (!to->is_lost && n_room > to->n_room) {
		text = realloc(to->text, n_room);
		to->is_lost = !text;
		to->text = text ? text : to->text;
		to->n_room = text ? n_room : to->n_room;
	}
	return to->is_lost ? NULL : to->text + to->n_bytes;
}

static void put_line(struct clv_exposition *to, const char *const *parts)
{
	size_t n = 1;
	char *at;

	for (size_t i = 0; parts[i]; i++)
		n += strlen(parts[i]);
	at = reserve(to, n);
	for (size_t i = 0; at && parts[i]; i++)
		at = stpcpy(at, parts[i]);
	to->n_bytes += at ? n - 1 : 0;
}

void clv_exposition_family(struct clv_exposition *to, const struct clv_family *family)
{
	/* Prometheus' format has the suffix in the family's name, and no type "info". */
	const char *ending = to->is_open_metrics ? "" : endings[family->type];
	const char *type = !to->is_open_metrics && family->type == CLV_METRIC_INFO
				   ? "gauge"
				   : type_names[family->type];

	put_line(to, (const char *const[]){"# HELP ", family->name, ending, " ",
			     family->help, "\n", NULL});
	put_line(to, (const char *const[]){
			     "# TYPE ", family->name, ending, " ", type, "\n", NULL});
	if (to->is_open_metrics && family->unit[0] != '\0')
		put_line(to, (const char *const[]){"# UNIT ", family->name, " ",
				     family->unit, "\n", NULL});
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

/* Avoids printf for whole numbers, which most values are. */
static char *append_value(char *to, double value)
{
	char digits[24], *at = digits + sizeof(digits);
	uint64_t rest = value >= 0 && value < EXACT_BELOW ? (uint64_t)value : 0;

	if (!(value >= 0 && value < EXACT_BELOW) || (double)rest != value ||
		(rest == 0 && signbit(value)))
		return to + snprintf(to, VALUE_MAX, "%.15g", value);
	do
		*--at = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	return mempcpy(to, at, (size_t)(digits + sizeof(digits) - at));
}

/* labels: as clv_exposition_labels() writes them, "" for none.  bound: the upper bound of
 * a histogram's bucket, or NULL. */
static void put(struct clv_exposition *to, const char *name, const char *ending,
	const char *labels, const char *bound, double value)
{
	const char *before = bound ? labels[0] ? ",le=\"" : "le=\"" : "";
	char *at = reserve(to, strlen(name) + strlen(ending) + strlen(labels) +
				       strlen(before) + (bound ? strlen(bound) : 0) +
				       sizeof("{\"} \n") + VALUE_MAX);

	if (!at)
		return;
	at = stpcpy(stpcpy(at, name), ending);
	if (labels[0] != '\0' || bound) {
		*at++ = '{';
		at = stpcpy(stpcpy(at, labels), before);
		at = bound ? stpcpy(stpcpy(at, bound), "\"") : at;
		*at++ = '}';
	}
	*at++ = ' ';
	at = append_value(at, value);
	*at++ = '\n';
	to->n_bytes = (size_t)(at - to->text);
}

static void put_sample(struct clv_exposition *to, const char *name, const char *ending,
	const struct clv_labels *labels, const char *bound, double value)
{
	_cleanup_free_ char *own = NULL;
	const char *text = "";

	if (has_label(labels))
		text = labels->text ? labels->text
				    : (own = clv_exposition_labels(labels));
	to->is_lost |= !text;
	put(to, name, ending, text ? text : "", bound, value);
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

char *clv_exposition_end(struct clv_exposition *to, size_t *ret_n_bytes)
{
	put_line(to, (const char *const[]){to->is_open_metrics ? "# EOF\n" : "", NULL});
	if (to->is_lost) {
		free(to->text);
		return NULL;
	}
	*ret_n_bytes = to->n_bytes;
	return to->text;
}
