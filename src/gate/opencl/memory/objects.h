/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/memory/charges.h"

#include <CL/cl.h>

/* Charging memory objects.  A charge ends when the object is really gone: the vendor's
 * destructor callback says so, which respects every reference that anybody holds.  What
 * is refused gives CL_MEM_OBJECT_ALLOCATION_FAILURE. */

/* What an allocation of so many bytes is charged.  Drivers keep a record for each: PoCL
 * 3.1 0.9 KiB for a buffer that was used (resident pages over 100,000 buffers of a byte),
 * 0.3 KiB for shared virtual memory, rusticl 22.3 0.3 KiB for a buffer.  From 64 KiB on
 * that is less than 2 % and not charged, so that what fits into a quota by its sizes does
 * fit. */
uint64_t clv_object_bytes(uint64_t n_bytes);

/* Ties the charge to the object (NULL: it was not made); with correct, first brings it to
 * the size that the vendor reports, which may be over quota.  Returns the object, or NULL
 * with *error set: then it is released. */
cl_mem clv_charge_settle(
	struct clv_charge *charge, cl_mem object, bool correct, cl_int *error);
