/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl_icd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* The drivers behind the gate where the gate is loaded as a driver itself (icd.c), and
 * their tables of calls.
 *
 * Each object of a driver begins with a pointer to the driver's table, and every loader
 * calls through that table.  The gate writes its wrappers into it.  So no loader has to
 * load the gate as a layer, a process may have several loaders, and a program that
 * bypasses all loaders reaches the gate as well. */

struct clv_vendor {
	void *library;
	void *(CL_API_CALL *get_address)(const char *name);
	cl_int(CL_API_CALL *get_platforms)(cl_uint, cl_platform_id *, cl_uint *);
	/* cl_khr_icd 2.0.0: a loader makes its own table by these two.  NULL: the driver
	 * is older. */
	void *(CL_API_CALL *get_function)(cl_platform_id platform, const char *name);
	cl_int(CL_API_CALL *set_data)(cl_platform_id platform, void *data);
};

/* False: the library cannot be loaded, or is no OpenCL driver. */
bool clv_vendor_open(const char *path, struct clv_vendor *ret);

/* The platform's own clGetPlatformInfo. */
cl_int clv_vendor_platform_info(const struct clv_vendor *vendor, cl_platform_id platform,
	cl_platform_info what, size_t room, void *value, size_t *ret_bytes);

/* Writes the wrappers, which clv_opencl_begin() has filled in, into the platform's table.
 * False: that is not possible, and a line on stderr says why. */
bool clv_vendor_gate(const struct clv_vendor *vendor, cl_platform_id platform);

/* Whether clv_real has the calls that the gate itself makes.  False: a line on stderr
 * says which it lacks. */
bool clv_vendor_has_needed(void);

/* Whether clv_vendor_gate() has succeeded. */
bool clv_vendors_are_gated(void);

/* Most drivers have one table, but nothing guarantees that.  So each object by which
 * calls can be made is checked before the program gets it, and the wrappers are written
 * into its table too.  False: that is not possible, a line on stderr says why, and the
 * program must not get the object. */
bool clv_vendor_gate_object(const void *object);

/* In a forked child: no thread has the lock. */
void clv_vendors_forget_parent(void);

/* The first table with wrappers.  NULL: there is none. */
extern _Atomic(void **) clv_vendor_table __attribute__((visibility("hidden")));

static inline bool clv_vendor_is_gated(const void *object)
{
	void **table = atomic_load_explicit(&clv_vendor_table, memory_order_relaxed);

	return !table || *(void *const *const *)object == table ||
	       clv_vendor_gate_object(object);
}
