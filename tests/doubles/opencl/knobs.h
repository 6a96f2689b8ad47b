/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* Tables of calls: one for all objects, one for each kind, or inconsistent ones. */
enum dcl_tables { DCL_TABLES_ONE, DCL_TABLES_KINDS, DCL_TABLES_STRANGE };

/* The settings from the environment, read once when the library is loaded. Constant after
 * that, so that they are read without a lock. */
struct dcl_knobs {
	cl_uint devices, compute_units;
	uint64_t mem_bytes, kernel_ns, alloc_ns, row_bytes;
	bool ooo_reverse;
	bool loose_finish;
	bool pageable_copies;
	enum dcl_tables tables;
	uint64_t fail_alloc_nth, fail_enqueue_nth; /* 0: never */
	cl_int fail_alloc_code, fail_enqueue_code;
	const char *device_file, *stats_file;
};
extern struct dcl_knobs dcl_knobs;

/* CL_SUCCESS, or the injected error if this is the Nth call since the load. An allocation
 * takes its time here, before it takes its memory. */
cl_int dcl_fail_alloc(void);
cl_int dcl_fail_enqueue(void);

void dcl_knobs_init(void);
