/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl_icd.h>
#include <stdbool.h>

/* The vendors behind the gate where it stands for them (icd.c), and their tables.
 *
 * Every object of a vendor begins with a pointer to the vendor's table of calls, and
 * every loader calls through it.  The gate puts its wrappers into that very table: so no
 * loader need take the gate as a layer, several may be in one process, and a program that
 * goes past them all meets the gate as well. */

struct clv_vendor {
	void *library;
	void *(CL_API_CALL *get_address)(const char *name);
	cl_int(CL_API_CALL *get_platforms)(cl_uint, cl_platform_id *, cl_uint *);
	/* cl_khr_icd 2.0.0: a loader makes its own table by these two.  NULL: the vendor
	 * is older than that. */
	void *(CL_API_CALL *get_function)(cl_platform_id platform, const char *name);
	cl_int(CL_API_CALL *set_data)(cl_platform_id platform, void *data);
};

/* False: no such library, or it is no OpenCL driver. */
bool clv_vendor_open(const char *path, struct clv_vendor *ret);

/* As the platform's clGetPlatformInfo. */
cl_int clv_vendor_platform_info(const struct clv_vendor *vendor, cl_platform_id platform,
	cl_platform_info what, size_t room, void *value, size_t *ret_bytes);

/* Puts the gate in front of all of this platform's calls.  False: that is not possible,
 * and a line on stderr says why. */
bool clv_vendor_gate(const struct clv_vendor *vendor, cl_platform_id platform);

/* Whether the above was done. */
bool clv_vendors_are_gated(void);
