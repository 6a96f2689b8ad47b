/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/backend.h"

#include <CL/cl.h>

/* The entry points of the ICD loader that enumeration needs, looked up at run time. */
struct clv_opencl_library {
	void *handle;
	cl_int(CL_API_CALL *get_platforms)(cl_uint, cl_platform_id *, cl_uint *);
	cl_int(CL_API_CALL *get_platform_info)(
		cl_platform_id, cl_platform_info, size_t, void *, size_t *);
	cl_int(CL_API_CALL *get_devices)(
		cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
	cl_int(CL_API_CALL *get_device_info)(
		cl_device_id, cl_device_info, size_t, void *, size_t *);
};

struct clv_opencl_backend {
	struct clv_backend base;
	struct clv_opencl_library library;
};

/* Returns 0, or -ENODEV if there is no ICD loader or it lacks an entry point. */
int clv_opencl_library_open(struct clv_opencl_library *ret, struct clv_error *err);
void clv_opencl_library_close(struct clv_opencl_library *library);

/* The enumerate member of the vtable. */
int clv_opencl_enumerate(
	struct clv_backend *backend, struct clv_device_list *ret, struct clv_error *err);
