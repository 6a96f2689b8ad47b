/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/view.h"

#include <CL/cl.h>
#include <stdbool.h>

/* Which of the n devices that a platform shows is the lease's.  Its place in the list is
 * that which the agent saw, unless a variable of the driver hides others or changes their
 * order.  So the UUID decides where drivers have one.
 *
 * The devices of a processor are all the same hardware, and each driver names them in its
 * own way: there the place decides.  Returns false where the lease's is not among them.
 */
bool clv_identify_device(const struct clv_view *view, const cl_device_id *all, cl_uint n,
	cl_device_id *ret);
