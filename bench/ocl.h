/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <CL/cl.h>
#include <stdint.h>

/* What every bench program needs of OpenCL: one device, one queue and one kernel whose
 * duration is set by a loop count. It uses libOpenCL alone and shares no code with
 * cleave, so the bench measures what any program would see. */
struct bench_ocl {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_mem out;
	size_t global_items;
	size_t local_items;
};

/* A kernel of D us takes (D * 1000 - base_ns) * loops_per_us / 1000 loops. */
struct bench_cal {
	uint64_t base_ns;
	double loops_per_us;
};

/* Prints one line and ends the program; a bench needs no cleanup. */
_Noreturn void bench_die(const char *what, int code);

/* Opens the first device; out_of_order chooses the queue's order.  Profiling is on. */
void bench_ocl_open(struct bench_ocl *ocl, int out_of_order);
void bench_ocl_close(struct bench_ocl *ocl);

/* Submits the kernel once. ret may be NULL. */
void bench_ocl_submit(struct bench_ocl *ocl, uint32_t loops, cl_event *ret);

/* Reads START and END of a completed event, on the device's own clock. */
void bench_ocl_times(cl_event event, uint64_t *ret_start_ns, uint64_t *ret_end_ns);

/* Measures how long loops take on the idle device. */
struct bench_cal bench_ocl_calibrate(struct bench_ocl *ocl);
uint32_t bench_cal_loops(const struct bench_cal *cal, uint32_t kernel_us);

/* The clock of PoCL's profiling events, so that hosts and devices compare. */
uint64_t bench_now_ns(void);
