/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/charges.h"

#include <CL/cl.h>

/* Charging memory objects.  A charge ends when the object is really gone: the vendor's
 * destructor callback says so, which respects every reference that anybody holds.  What
 * is refused gives CL_MEM_OBJECT_ALLOCATION_FAILURE. */

/* Ties the charge to the object; with correct, first brings it to the size that the
 * vendor reports.  Returns the object, or NULL with *ret_error set when memory ran out.
 */
cl_mem clv_charge_settle(
	struct clv_charge *charge, cl_mem object, bool correct, cl_int *ret_error);
