/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* The checks of `cleave doctor`.  They change nothing. */

enum clv_verdict {
	CLV_VERDICT_OK,
	CLV_VERDICT_INFO, /* optional, present or not */
	CLV_VERDICT_WARN, /* works with a restriction */
	CLV_VERDICT_FAIL, /* shares cannot run */
	_CLV_VERDICT_MAX,
};

const char *clv_verdict_to_string(enum clv_verdict verdict);

struct clv_finding {
	enum clv_verdict verdict;
	char found[384];
	char remedy[256]; /* "" when nothing is to be done */
};

struct clv_check {
	const char *name;
	const char *why; /* what it is needed for */
	void (*ask)(struct clv_finding *ret);
};

extern const struct clv_check clv_checks[];
extern const size_t clv_n_checks;

/* Stores a finding; format gives the text of what was found. */
void clv_finding_set(struct clv_finding *ret, enum clv_verdict verdict,
	const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
