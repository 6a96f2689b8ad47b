/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "functions.h"

struct dhs_symbol {
	const char *name;
	void *function;
};

extern const struct dhs_symbol dhs_symbols[];

/* Returns whether a call is allowed. */
int dhs_begin(const char *name, bool unused);
int dhs_missing(const char *name);

static inline int dhs_end(int r, bool unused)
{
	return r;
}
