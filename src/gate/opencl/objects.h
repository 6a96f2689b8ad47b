/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>

/* Charging the memory of OpenCL objects.  A charge ends when the object is really gone:
 * the vendor's destructor callback says so, which respects every reference that anybody
 * holds. */

/* Whether n_bytes may be asked of the vendor: charged to the quota, or above what the
 * vendor itself allows in one piece, so that the vendor's own error comes out. */
struct clv_charge {
	uint64_t n_bytes;
	uint32_t epoch;
	bool charged;
	bool refused; /* over quota: the program gets CL_MEM_OBJECT_ALLOCATION_FAILURE */
};
struct clv_charge clv_charge_take(uint64_t n_bytes);
void clv_charge_undo(const struct clv_charge *charge);

/* Ties the charge to the object; with correct, first brings it to the size that the
 * vendor reports.  Returns the object, or NULL with *ret_error set when memory ran out.
 */
cl_mem clv_charge_settle(
	struct clv_charge *charge, cl_mem object, bool correct, cl_int *ret_error);

/* Allocations known by address. */
void clv_charge_pointer(const struct clv_charge *charge, const void *address);
void clv_release_pointer(const void *address);

/* The same in two steps, where the vendor may refuse to free: taken before its call, for
 * afterwards the address may be another thread's; then undone, or charged again. */
struct clv_charge clv_charge_withdraw(const void *address);

void clv_objects_forget_parent(void);
