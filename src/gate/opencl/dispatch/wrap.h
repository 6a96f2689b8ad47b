/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl_icd.h>

/* Each of these writes the wrappers of its file into a table. */
void clv_opencl_wrap_notifications(cl_icd_dispatch *table);
void clv_opencl_wrap_submissions(cl_icd_dispatch *table);
void clv_opencl_wrap_waits(cl_icd_dispatch *table);
void clv_opencl_wrap_queues(cl_icd_dispatch *table);
void clv_opencl_wrap_memory(cl_icd_dispatch *table);
void clv_opencl_wrap_svm(cl_icd_dispatch *table);
void clv_opencl_wrap_devices(cl_icd_dispatch *table);
void clv_opencl_wrap_extensions(cl_icd_dispatch *table);
