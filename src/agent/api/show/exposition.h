/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/histogram.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Metrics as text, in Prometheus' text format or as OpenMetrics, which adds unit and end
 * lines and names the families of counters and infos without their suffix.  Zero but for
 * is_open_metrics at the beginning; clv_exposition_end() gives the text. */
struct clv_exposition {
	bool is_open_metrics;
	bool is_lost; /* memory was short: there is no text */
	char *text;
	size_t n_bytes, n_room;
	/* Cache: the bounds of histograms as text, for bounds_scale. */
	double bounds_scale;
	char bounds[CLV_HISTOGRAM_BOUNDS][24];
};

enum clv_metric_type {
	CLV_METRIC_COUNTER,
	CLV_METRIC_GAUGE,
	CLV_METRIC_HISTOGRAM,
	CLV_METRIC_INFO, /* always 1: its labels are the information */
};

/* name: without the suffix "_total" or "_info"; unit: "" for none. */
struct clv_family {
	const char *name;
	enum clv_metric_type type;
	const char *unit;
	const char *help;
};

/* A label whose value is NULL or "" is left out. */
#define CLV_LABELS_MAX 6u
struct clv_label {
	const char *name, *value;
};
struct clv_labels {
	struct clv_label items[CLV_LABELS_MAX];
	/* Cache: all labels as clv_exposition_labels() writes them; NULL: none. */
	const char *text;
};

/* Returns the text between the braces of a sample, for labels that many samples share.
 * The caller frees it; NULL: out of memory. */
char *clv_exposition_labels(const struct clv_labels *labels);

void clv_exposition_family(struct clv_exposition *to, const struct clv_family *family);
void clv_exposition_value(struct clv_exposition *to, const struct clv_family *family,
	const struct clv_labels *labels, double value);
/* counts: as in struct clv_histogram; scale: the factor from the histogram's unit of time
 * to the family's unit. */
void clv_exposition_histogram(struct clv_exposition *to, const struct clv_family *family,
	const struct clv_labels *labels, const uint64_t *counts, uint64_t sum,
	double scale);
/* Returns the text, which ends with a NUL and which the caller frees; NULL: out of
 * memory. */
char *clv_exposition_end(struct clv_exposition *to, size_t *ret_n_bytes);
