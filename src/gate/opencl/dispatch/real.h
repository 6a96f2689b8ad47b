/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl_icd.h>
#include <stdbool.h>
#include <stddef.h>

/* The calls below the gate: the vendor's own where the gate stands in the vendor's table
 * (vendors.h), else the loader's, which find the vendor by the object.  Filled before any
 * wrapper can be called. */
extern cl_icd_dispatch clv_real __attribute__((visibility("hidden")));

/* The gate's own calls in place of those, and of them the ones that show the lease's
 * device and no other.  Filled by clv_opencl_begin() (begin.h). */
extern cl_icd_dispatch clv_opencl_wrappers __attribute__((visibility("hidden")));
extern cl_icd_dispatch clv_opencl_filters __attribute__((visibility("hidden")));

/* Entries by their place in the table.  The gate knows all of OpenCL 3.0 and the one that
 * 3.1 added, which needs no wrapper. */
#define CLV_OPENCL_N_ENTRIES (sizeof(clv_real) / sizeof(void *))
#define CLV_OPENCL_N_KNOWN 150

/* NULL: the gate lets the call pass. */
void *clv_opencl_wrapper(size_t entry);
/* Likewise, of the filters. */
void *clv_opencl_filter(size_t entry);
const char *clv_opencl_name(size_t entry);
void **clv_opencl_entry(cl_icd_dispatch *table, size_t entry);

/* SIZE_MAX: it is none of the table's. */
size_t clv_opencl_find_entry(const char *name);
