/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "functions.h"

/* The table of the names that programs can look up. */
struct dcu_export {
	const char *base;
	int version;
	void *function, *of_thread; /* of_thread: for the per-thread default stream */
};

extern const struct dcu_export dcu_exports[];
extern const size_t dcu_n_exports;
