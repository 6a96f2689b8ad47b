/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl_icd.h>
#include <stdbool.h>
#include <stddef.h>

/* The calls below the gate: the driver's own where the gate is in the driver's table
 * (vendors.h), otherwise the loader's, which find the driver by the object.  Filled in
 * before any wrapper can be called. */
extern cl_icd_dispatch clv_real __attribute__((visibility("hidden")));

/* The gate's wrappers of these calls, and those of the wrappers that restrict what the
 * program sees to the lease's device.  Filled in by clv_opencl_begin() (begin.h). */
extern cl_icd_dispatch clv_opencl_wrappers __attribute__((visibility("hidden")));
extern cl_icd_dispatch clv_opencl_filters __attribute__((visibility("hidden")));

/* Entries by their index in the table.  The gate knows all of OpenCL 3.0 and the one that
 * 3.1 added, which needs no wrapper. */
#define CLV_OPENCL_N_ENTRIES (sizeof(clv_real) / sizeof(void *))
#define CLV_OPENCL_N_KNOWN 150

/* NULL: the call is not wrapped. */
void *clv_opencl_wrapper(size_t entry);
/* The same for the filters. */
void *clv_opencl_filter(size_t entry);
const char *clv_opencl_name(size_t entry);
void **clv_opencl_entry(cl_icd_dispatch *table, size_t entry);

/* SIZE_MAX: the table has no such entry. */
size_t clv_opencl_find_entry(const char *name);
