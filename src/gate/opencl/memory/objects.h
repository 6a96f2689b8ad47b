/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/memory/charges.h"

#include <CL/cl.h>

/* Charges of memory objects.  A charge ends when the object is really gone, as the
 * driver's destructor callback reports, whichever references to it exist.  A refusal is
 * CL_MEM_OBJECT_ALLOCATION_FAILURE. */

/* What an allocation of n_bytes is charged.  Drivers keep a record for each: PoCL 3.1 0.9
 * KiB for a buffer that was used (resident pages over 65,000 buffers of a byte), 0.3 KiB
 * for shared virtual memory; rusticl 22.3 1.05 KiB for a buffer that was used.  From 64
 * KiB on that is less than 2 % and is not charged, so allocations whose sizes fit into
 * the quota do fit. */
uint64_t clv_object_bytes(uint64_t n_bytes);

/* As clv_charge_take().  If there is no room, and the program has released objects that
 * the driver still had then, and has since this wait was last in vain, it waits for the
 * driver to release them, 100 ms at most; not in a callback, for which the driver may
 * wait. */
struct clv_charge clv_object_charge(uint64_t n_bytes);

/* Releases a reference of the program's. */
cl_int clv_object_release(cl_mem object);

/* Attaches the charge to the object (NULL: the call failed).  With `correct` the charge
 * is first set to the size that the driver reports, which may be over quota.  Returns the
 * object; or NULL with *error set, and the object is released. */
cl_mem clv_charge_settle(
	struct clv_charge *charge, cl_mem object, bool correct, cl_int *error);
