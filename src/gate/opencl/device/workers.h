/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl.h>

/* The threads of this process in which a driver computes whose device is the processor.
 * The agent gets their ids, and stops them wherever they are when a turn ends: by a
 * signal, in whose handler they wait until the lease has its next turn, or the agent is
 * dead or silent.  A thread that needs a lock of a stopped thread waits too; the gate
 * needs no such lock to continue. */

struct clv_view;

/* The driver's clGetDeviceIDs, which the gate of an attached process calls only here.
 * The threads that the driver starts in the first call are the ones in which it computes,
 * because no earlier call creates devices.  Threads that other threads of the program
 * start meanwhile are not among them. */
cl_int clv_workers_get_devices(const struct clv_view *view, cl_platform_id platform,
	cl_device_type type, cl_uint room, cl_device_id *devices, cl_uint *ret_n);

/* Tells the agent of the view which threads these are, if there are any. */
void clv_workers_tell(const struct clv_view *view);

/* In a forked child, which has none of its parent's threads. */
void clv_workers_forget_parent(void);
