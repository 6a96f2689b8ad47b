/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/histogram.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Metrics as text: what Prometheus has always read, or OpenMetrics, which asks for the
 * unit and for the end to be said, and names counters and infos otherwise. */
struct clv_exposition {
	FILE *out;
	bool is_open_metrics;
	/* The bounds of histograms as texts, made once for a scale. */
	double bounds_scale;
	char bounds[CLV_HISTOGRAM_BOUNDS][24];
};

enum clv_metric_type {
	CLV_METRIC_COUNTER,
	CLV_METRIC_GAUGE,
	CLV_METRIC_HISTOGRAM,
	CLV_METRIC_INFO, /* a one, for its labels */
};

/* The name is without "_total" and "_info"; unit "": it has none. */
struct clv_family {
	const char *name;
	enum clv_metric_type type;
	const char *unit;
	const char *help;
};

/* A value that is NULL or "" is left out. */
#define CLV_LABELS_MAX 6u
struct clv_label {
	const char *name, *value;
};
struct clv_labels {
	struct clv_label items[CLV_LABELS_MAX];
	const char
		*text; /* all of them as clv_exposition_labels() has it; NULL: not yet */
};

/* For labels of many samples: what stands between their braces.  To be freed; NULL
 * without memory. */
char *clv_exposition_labels(const struct clv_labels *labels);

void clv_exposition_family(struct clv_exposition *to, const struct clv_family *family);
void clv_exposition_value(struct clv_exposition *to, const struct clv_family *family,
	const struct clv_labels *labels, double value);
/* counts: as in struct clv_histogram; scale: of a nanosecond in the unit. */
void clv_exposition_histogram(struct clv_exposition *to, const struct clv_family *family,
	const struct clv_labels *labels, const uint64_t *counts, uint64_t sum,
	double scale);
void clv_exposition_end(struct clv_exposition *to);
