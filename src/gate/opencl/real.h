/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl_icd.h>
#include <stdbool.h>
#include <stddef.h>

/* The calls below the gate: the vendor's own where the gate stands in the vendor's table
 * (vendors.h), else the loader's, which find the vendor by the object.  Filled before any
 * wrapper can be called. */
extern cl_icd_dispatch clv_real __attribute__((visibility("hidden")));

/* Each file of wrappers puts its own into a table. */
void clv_opencl_wrap_submissions(cl_icd_dispatch *table);
void clv_opencl_wrap_waits(cl_icd_dispatch *table);
void clv_opencl_wrap_queues(cl_icd_dispatch *table);
void clv_opencl_wrap_memory(cl_icd_dispatch *table);
void clv_opencl_wrap_svm(cl_icd_dispatch *table);
void clv_opencl_wrap_devices(cl_icd_dispatch *table);
void clv_opencl_wrap_extensions(cl_icd_dispatch *table);

/* The gate proper: makes the table of wrappers; once, however often it is called. */
void clv_opencl_begin(void);

/* Entries by their place in the table.  The gate knows all of OpenCL 3.0 and the one that
 * 3.1 added, which needs no wrapper. */
#define CLV_OPENCL_N_ENTRIES (sizeof(clv_real) / sizeof(void *))
#define CLV_OPENCL_N_KNOWN 150

/* NULL: the gate lets the call pass. */
void *clv_opencl_wrapper(size_t entry);
/* Likewise, but of the wrappers only those that show the lease's device and no other. */
void *clv_opencl_filter(size_t entry);
const char *clv_opencl_name(size_t entry);
void **clv_opencl_entry(cl_icd_dispatch *table, size_t entry);

/* SIZE_MAX: it is none of the table's. */
size_t clv_opencl_find_entry(const char *name);

/* What the program gets for a name for which the vendor has `found`. */
void *clv_opencl_answer(const char *name, void *found);
/* What the gate itself answers as a driver's library (icd.c), or NULL. */
void *clv_opencl_icd_function(const char *name);
