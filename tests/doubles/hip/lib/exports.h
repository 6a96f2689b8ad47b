/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "functions.h"

struct dhi_symbol {
	const char *name;
	void *function;
};

/* The table of the names that programs can look up, sorted by name. */
extern const struct dhi_symbol dhi_symbols[];

/* Returns whether a call is allowed. is_own: its default stream is the per-thread one. */
int dhi_begin(const char *name, bool is_own);
/* Keeps the error for the thread. */
int dhi_end(int r, bool is_own);
int dhi_missing(const char *name);
