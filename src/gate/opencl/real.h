/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl_icd.h>

/* The calls below this layer.  Filled once by clInitLayer, before any wrapper can be
 * called.
 */
extern cl_icd_dispatch clv_real __attribute__((visibility("hidden")));

/* Each file of wrappers puts its own into the table that the loader gets. */
void clv_opencl_wrap_submissions(cl_icd_dispatch *table);
void clv_opencl_wrap_waits(cl_icd_dispatch *table);
void clv_opencl_wrap_queues(cl_icd_dispatch *table);
void clv_opencl_wrap_memory(cl_icd_dispatch *table);
void clv_opencl_wrap_svm(cl_icd_dispatch *table);
void clv_opencl_wrap_devices(cl_icd_dispatch *table);
void clv_opencl_wrap_extensions(cl_icd_dispatch *table);

/* The table of wrappers, for extension functions asked by name. */
const cl_icd_dispatch *clv_opencl_table(void);
