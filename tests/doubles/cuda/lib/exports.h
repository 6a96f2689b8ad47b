/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "functions.h"

/* The table of what programs can ask for by name. */
struct dcu_export {
	const char *base;
	int version;
	void *function, *of_thread; /* of_thread: for the thread's own default stream */
};

extern const struct dcu_export dcu_exports[];
extern const size_t dcu_n_exports;
