/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the attempts to bypass the limits share. An attempt prints its results to standard
 * output, one fact a line; bypass.py judges:
 *
 *   got BYTES code ERROR     of memory, and the error that ended it
 *   go, done                 the time between them is the one to measure
 *   yes TEXT, no TEXT        whether the attempt was possible
 *   no-device                no device: exit status 3
 *
 * An attempt uses OpenCL as any program would and shares no code with cleave. */

#define WAY_PIECE_BYTES ((size_t)8 << 20)
#define WAY_PIECES_MAX 64
#define WAY_EXIT_NO_DEVICE 3

struct way {
	const char *name;
	int (*run)(char **arguments);
};

extern const struct way way_memory[], way_processes[], way_descriptors[], way_pages[],
	way_work[], way_work_events[], way_floods[];

struct way_device {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_kernel kernel;
	cl_mem out;
};

_Noreturn void way_die(const char *what, int code);
void way_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void way_open(struct way_device *d);
cl_command_queue way_queue(struct way_device *d, cl_command_queue_properties properties);

/* Submits a kernel of about this length that fills the device; not thread-safe. */
void way_submit(struct way_device *d, cl_command_queue queue, uint32_t us,
	cl_uint n_waits, const cl_event *waits, cl_event *event);

/* Prints "go"; returns true until the time is over, then prints "done" and waits for its
 * input. */
void way_begin(void);
bool way_goes_on(void);
void way_end(void);

/* Keeps a queue full of kernels until the time is over. */
void way_flood(struct way_device *d, cl_command_queue queue, uint32_t us, uint32_t batch);

/* Allocates buffers until refused, at most this many, and prints the total. */
size_t way_take_buffers(struct way_device *d, size_t n_pieces_max);

uint64_t way_now_ns(void);
/* Returns a number from the environment. */
uint64_t way_number(const char *name, uint64_t otherwise);
