/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ways.h"

#include <CL/cl.h>

/* What the ways through OpenCL have in common; bypass.py judges. */

#define WAY_PIECE_BYTES ((size_t)8 << 20)
#define WAY_PIECES_MAX 64

extern const struct way way_memory[], way_descriptors[], way_work[], way_work_events[],
	way_floods[];

/* Those that take pieces, repeat a round, or flood one queue: each ends the process, if
 * the name is one of its own. */
void way_run_taking(const char *name);
void way_run_rounds(const char *name);
void way_run_flood(const char *name);

struct way_device {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_kernel kernel;
	cl_mem out;
};

void way_open(struct way_device *d);
cl_command_queue way_queue(struct way_device *d, cl_command_queue_properties properties);

/* Submits a kernel of about this length that fills the device; not thread-safe. */
void way_submit(struct way_device *d, cl_command_queue queue, uint32_t us,
	cl_uint n_waits, const cl_event *waits, cl_event *event);

/* Keeps a queue full of kernels until the time is over. */
void way_flood(struct way_device *d, cl_command_queue queue, uint32_t us, uint32_t batch);

/* Allocates buffers until refused, at most this many, and prints the total. */
size_t way_take_buffers(struct way_device *d, size_t n_pieces_max);
