/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "functions.h"

/* The table of the names that programs can look up. */
struct dcu_export {
	const char *base;
	int version;
	/* As exported, and not; of_thread: for the thread's own default stream. */
	void *function[2], *of_thread[2];
};

extern const struct dcu_export dcu_exports[];
extern const size_t dcu_n_exports;
