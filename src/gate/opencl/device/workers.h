/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl.h>

/* The threads of this process in which a vendor whose device is the processor computes.
 * The agent is told of them, and stops them where they are when a turn ends: by a signal,
 * in whose handler they wait until the lease has its next turn, or the agent is dead or
 * silent.  Whoever shares a lock with a stopped thread waits with it; the gate needs
 * none to go on. */

struct clv_view;

/* clGetDeviceIDs of the vendor, which the gate calls in no other way.  The first time,
 * threads that it starts are those in which it computes: no call makes devices before it.
 * What other threads of the program start meanwhile are not. */
cl_int clv_workers_get_devices(const struct clv_view *view, cl_platform_id platform,
	cl_device_type type, cl_uint room, cl_device_id *devices, cl_uint *ret_n);

void clv_workers_tell(const struct clv_view *view);

/* In a child, which has none of its parent's threads. */
void clv_workers_forget_parent(void);
