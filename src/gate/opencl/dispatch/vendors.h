/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl_icd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

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

/* Puts the gate in front of all of this platform's calls, after its table of wrappers has
 * been made (begin.h).  False: that is not possible,
 * and a line on stderr says why. */
bool clv_vendor_gate(const struct clv_vendor *vendor, cl_platform_id platform);

/* Whether the above was done. */
bool clv_vendors_are_gated(void);

/* Drivers mostly have one table, and nothing says that they must.  So each object that
 * calls can be made by is looked at as it is handed out, and the gate is put into its
 * table too.  False: that is not possible, a line on stderr says why, and the program
 * must not have the object. */
bool clv_vendor_take_object(const void *object);

/* NULL: the gate is in no table. */
extern _Atomic(void **) clv_vendor_table __attribute__((visibility("hidden")));

static inline bool clv_vendor_is_held(const void *object)
{
	void **table = atomic_load_explicit(&clv_vendor_table, memory_order_relaxed);

	return !table || *(void *const *const *)object == table ||
	       clv_vendor_take_object(object);
}
