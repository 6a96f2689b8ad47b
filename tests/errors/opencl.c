/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL program that makes every kind of call, goes on after any error, and releases
 * all that it has got: errors.h.  It is given a lease of QUOTA, on the double or a driver
 * in front of it (driver.c). */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "../doubles/opencl/cleave-double.h"
#include "errors.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUOTA (64 * ERRORS_MIB)
#define TOO_MUCH (QUOTA + 8 * ERRORS_MIB)
#define PIECE ((size_t)256 << 10)
#define US 20 /* of a kernel */
#define LONG_US 1500
#define EVENTS_MAX 16

/* The same of calls that return something, and their error through an argument. */
#define MAKE(symbol, ...)                                         \
	({                                                        \
		cl_int r_ = CL_SUCCESS;                           \
		void *made_ = symbol(__VA_ARGS__, &r_);           \
                                                                  \
		errors_note(#symbol, r_ || made_ ? r_ : NOTHING); \
		r_ ? NULL : made_;                                \
	})
#define NOTHING (-9999) /* and no error either */

/* No handle is used that a call did not give, and none that came with an error. */
#define GIVEN(event, call) ((call) == CL_SUCCESS ? (event) : ((event) = NULL))

static const char *const source = "__kernel void spin(uint us) {}\n";

/* What the program has.  What it did not get is NULL, and is used all the same. */
static struct {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue, other, unordered;
	cl_program program;
	cl_kernel kernel;
	cl_mem flat, again, part, image, pipe;
	void *shared, *freed;
	cl_event events[EVENTS_MAX];
	cl_uint n_events;
	bool can_set_events;
} have;

static char bytes[PIECE];

static void find_device(void)
{
	cl_platform_id platforms[4] = {0};
	cl_device_id devices[4] = {0};
	cl_ulong n_bytes;
	char name[64];
	size_t n_name;
	cl_uint n = 0;

	if (TRY(clGetPlatformIDs, 4, platforms, &n) == CL_SUCCESS && n > 0)
		have.platform = platforms[0];
	TRY(clGetPlatformInfo, have.platform, CL_PLATFORM_NAME, sizeof(name), name,
		&n_name);
	if (TRY(clGetDeviceIDs, have.platform, CL_DEVICE_TYPE_ALL, 4, devices, &n) ==
			CL_SUCCESS &&
		n > 0)
		have.device = devices[0];
	if (n > 1)
		errors_strange("more-than-one-device");
	TRY(clGetDeviceInfo, have.device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(n_bytes),
		&n_bytes, NULL);
}

static void make_context(void)
{
	cl_uint us = US;

	have.context = MAKE(clCreateContext, NULL, 1, &have.device, NULL, NULL);
	have.queue = MAKE(clCreateCommandQueue, have.context, have.device, 0);
	have.other =
		MAKE(clCreateCommandQueueWithProperties, have.context, have.device, NULL);
	have.unordered = MAKE(clCreateCommandQueue, have.context, have.device,
		CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	have.program = MAKE(
		clCreateProgramWithSource, have.context, 1, (const char **)&source, NULL);
	TRY(clBuildProgram, have.program, 1, &have.device, "", NULL, NULL);
	have.kernel = MAKE(clCreateKernel, have.program, "spin");
	TRY(clSetKernelArg, have.kernel, 0, sizeof(us), &us);
}

/* With less room than there must be.  So many references need two bytes. */
static void ask_with_little_room(void)
{
	char room[4] = {0};
	size_t n_bytes;
	int n = 0;

	while (n < 256 && TRY(clRetainCommandQueue, have.queue) == CL_SUCCESS)
		n++;
	TRY(clGetCommandQueueInfo, have.queue, CL_QUEUE_REFERENCE_COUNT, 1, room,
		&n_bytes);
	if (room[1])
		errors_strange("written-past-the-room");
	while (n-- > 0)
		END(clReleaseCommandQueue, have.queue);
}

static void CL_CALLBACK object_gone(cl_mem object, void *userdata)
{
	++*(int *)userdata;
}

static void take_memory(void)
{
	const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
	const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
		.image_width = 256,
		.image_height = 256};
	const cl_buffer_region region = {0, 4096};
	static int n_gone;

	have.flat = MAKE(clCreateBuffer, have.context, 0, PIECE, NULL);
	have.again =
		MAKE(clCreateBufferWithProperties, have.context, NULL, 0, PIECE, NULL);
	have.part = MAKE(
		clCreateSubBuffer, have.flat, 0, CL_BUFFER_CREATE_TYPE_REGION, &region);
	have.image = MAKE(clCreateImage, have.context, 0, &format, &desc, NULL);
	have.pipe = MAKE(clCreatePipe, have.context, 0, 16, 1024, NULL);
	have.shared = clSVMAlloc(have.context, 0, PIECE, 0);
	have.freed = clSVMAlloc(have.context, 0, PIECE, 0);
	errors_note("clSVMAlloc", have.shared && have.freed ? 0 : NOTHING);
	TRY(clSetMemObjectDestructorCallback, have.again, object_gone, &n_gone);
}

static void CL_CALLBACK called(cl_event event, cl_int status, void *userdata)
{
}

/* Of a command that was taken. */
static void keep(cl_event event)
{
	if (event && have.n_events < EVENTS_MAX)
		have.events[have.n_events++] = event;
	else if (event)
		clReleaseEvent(event);
}

static cl_event launch(cl_command_queue queue, cl_uint n, const cl_event *waits)
{
	const size_t one = 1;
	cl_event event = NULL;

	return GIVEN(event, WORK(clEnqueueNDRangeKernel, queue, have.kernel, 1, NULL,
				    &one, NULL, n, waits, &event));
}

static void launch_all(void)
{
	const size_t one = 1;

	for (int i = 0; i < 3; i++) {
		keep(launch(have.queue, 0, NULL));
		WORK(clEnqueueNDRangeKernel, have.queue, have.kernel, 1, NULL, &one, NULL,
			0, NULL, NULL);
		WORK(clEnqueueNDRangeKernel, have.unordered, have.kernel, 1, NULL, &one,
			NULL, 0, NULL, NULL);
		WORK(clEnqueueTask, have.other, have.kernel, 0, NULL, NULL);
		TRY(clFlush, have.other);
	}
}

static void CL_CALLBACK native(void *userdata)
{
}

static void move_bytes(void)
{
	const size_t at[3] = {0, 0, 0}, region[3] = {16, 16, 1};
	const cl_uint zero = 0, color[4] = {0};
	cl_event event = NULL;
	void *mapped;

	WORK(clEnqueueWriteBuffer, have.queue, have.flat, CL_TRUE, 0, PIECE, bytes, 0,
		NULL, NULL);
	WORK(clEnqueueWriteBuffer, have.other, have.flat, CL_FALSE, 0, PIECE, bytes, 0,
		NULL, NULL);
	WORK(clEnqueueCopyBuffer, have.queue, have.flat, have.again, 0, 0, PIECE, 0, NULL,
		NULL);
	WORK(clEnqueueFillBuffer, have.queue, have.again, &zero, sizeof(zero), 0, PIECE,
		0, NULL, NULL);
	WORK(clEnqueueFillImage, have.queue, have.image, color, at, region, 0, NULL,
		NULL);
	WORK(clEnqueueReadImage, have.queue, have.image, CL_FALSE, at, region, 0, 0,
		bytes, 0, NULL, NULL);
	mapped = MAKE(clEnqueueMapBuffer, have.queue, have.flat, CL_TRUE, CL_MAP_READ, 0,
		4096, 0, NULL, NULL);
	if (mapped)
		WORK(clEnqueueUnmapMemObject, have.queue, have.flat, mapped, 0, NULL,
			NULL);
	WORK(clEnqueueMigrateMemObjects, have.queue, 1, &have.flat, 0, 0, NULL, NULL);
	WORK(clEnqueueNativeKernel, have.queue, native, bytes, 16, 0, NULL, NULL, 0, NULL,
		NULL);
	if (have.shared) {
		WORK(clEnqueueSVMMemFill, have.queue, have.shared, &zero, sizeof(zero),
			PIECE, 0, NULL, NULL);
		WORK(clEnqueueSVMMemcpy, have.queue, CL_TRUE, have.shared, bytes, 4096, 0,
			NULL, NULL);
	}
	keep(GIVEN(event, WORK(clEnqueueReadBuffer, have.queue, have.flat, CL_FALSE, 0,
				  PIECE, bytes, 0, NULL, &event)));
}

/* Events that the program sets.  What waits for one that cannot be set never runs, and
 * so nothing waits for one then. */
static void look_whether_events_can_be_set(void)
{
	cl_event event = MAKE(clCreateUserEvent, have.context);

	have.can_set_events =
		event && TRY(clSetUserEventStatus, event, CL_COMPLETE) == CL_SUCCESS;
	if (event)
		TRY(clReleaseEvent, event);
}

static void wait_for_events_of_ours(void)
{
	cl_event own, marker = NULL, behind;

	if (!have.can_set_events)
		return;
	own = MAKE(clCreateUserEvent, have.context);
	if (!own)
		return;
	behind = launch(have.queue, 1, &own);
	if (behind) {
		TRY(clSetEventCallback, behind, CL_COMPLETE, called, NULL);
		keep(launch(have.unordered, 1, &behind));
	}
	keep(launch(have.queue, 0, NULL));
	keep(GIVEN(
		marker, TRY(clEnqueueMarkerWithWaitList, have.queue, 1, &own, &marker)));
	TRY(clEnqueueBarrierWithWaitList, have.queue, 0, NULL, NULL);
	END(clSetUserEventStatus, own, CL_COMPLETE);
	keep(behind);
	TRY(clReleaseEvent, own);
}

/* One that is never set, and nothing waits for; a later event may have its handle. */
static void throw_event_away(void)
{
	cl_event own = MAKE(clCreateUserEvent, have.context);

	if (own)
		END(clReleaseEvent, own);
}

static void wait_for_all(void)
{
	cl_int status;

	if (have.n_events > 0) {
		TRY(clGetEventInfo, have.events[0], CL_EVENT_COMMAND_EXECUTION_STATUS,
			sizeof(status), &status, NULL);
		TRY(clWaitForEvents, have.n_events, have.events);
		TRY(clWaitForEvents, 1, &have.events[have.n_events - 1]);
	}
	TRY(clFinish, have.queue);
	TRY(clFinish, have.other);
	TRY(clFinish, have.unordered);
}

static bool is_running(cl_event event)
{
	cl_int status = CL_COMPLETE;

	return clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
		       &status, NULL) == CL_SUCCESS &&
	       status > CL_COMPLETE;
}

/* Who could not wait knows nothing. */
static void wait_in_vain(void)
{
	cl_uint us = LONG_US;
	cl_event event;
	cl_int r;

	TRY(clSetKernelArg, have.kernel, 0, sizeof(us), &us);
	for (int i = 0; i < 4; i++) {
		event = launch(have.other, 0, NULL);
		if (!event)
			continue;
		r = i % 2 ? TRY(clFinish, have.other) : TRY(clWaitForEvents, 1, &event);
		/* In this order: it may complete between the two. */
		if (r != CL_SUCCESS && errors_is_drained() && is_running(event))
			errors_strange("complete-by-an-error");
		END(clFinish, have.other);
		keep(event);
	}
	us = US;
	TRY(clSetKernelArg, have.kernel, 0, sizeof(us), &us);
}

static void ask_for_too_much(void)
{
	const cl_image_format format = {CL_RGBA, CL_FLOAT};
	const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
		.image_width = 4096,
		.image_height = TOO_MUCH / 4096 / 16};
	cl_int r = CL_SUCCESS;
	void *got;

	got = clCreateBuffer(have.context, 0, TOO_MUCH, NULL, &r);
	errors_beyond("clCreateBuffer", !got || r);
	r = CL_SUCCESS;
	got = clCreateImage(have.context, 0, &format, &desc, NULL, &r);
	errors_beyond("clCreateImage", !got || r);
	got = clSVMAlloc(have.context, 0, TOO_MUCH, 0);
	errors_beyond("clSVMAlloc", !got);
}

/* The end of it. */

static void CL_CALLBACK free_shared(
	cl_command_queue queue, cl_uint n, void **pointers, void *userdata)
{
	for (cl_uint i = 0; i < n; i++)
		clSVMFree(have.context, pointers[i]);
}

static void free_memory(void)
{
	cl_mem objects[] = {have.part, have.flat, have.again, have.image, have.pipe};

	if (have.freed && TRY(clEnqueueSVMFree, have.other, 1, &have.freed, free_shared,
				  NULL, 0, NULL, NULL) != CL_SUCCESS)
		clSVMFree(have.context, have.freed);
	TRY(clFinish, have.other);
	/* What may still be used is not freed. */
	if (have.shared && TRY(clFinish, have.queue) == CL_SUCCESS)
		clSVMFree(have.context, have.shared);
	for (int i = 0; i < 5; i++) {
		if (objects[i])
			END(clReleaseMemObject, objects[i]);
	}
	for (cl_uint i = 0; i < have.n_events; i++)
		END(clReleaseEvent, have.events[i]);
}

static void end_context(void)
{
	cl_command_queue queues[] = {have.queue, have.other, have.unordered};

	for (int i = 0; i < 3; i++) {
		if (queues[i])
			END(clFinish, queues[i]);
	}
	for (int i = 0; i < 3; i++) {
		if (queues[i])
			END(clReleaseCommandQueue, queues[i]);
	}
	if (have.kernel)
		END(clReleaseKernel, have.kernel);
	if (have.program)
		END(clReleaseProgram, have.program);
	if (have.context)
		END(clReleaseContext, have.context);
}

/* By the double's own word, past whatever is in front of it. */
uint64_t errors_given(void)
{
	struct cleave_double_stats stats = {0};
	clGetDoubleStatsCLEAVE_fn get_stats;
	void *(CL_API_CALL * get)(const char *) = NULL;
	void *library = dlopen(getenv("ERRORS_BELOW"), RTLD_NOW | RTLD_NOLOAD);

	if (library)
		*(void **)&get = dlsym(library, "clGetExtensionFunctionAddress");
	if (!get)
		return 0;
	*(void **)&get_stats = get(CLEAVE_DOUBLE_STATS_FN);
	get_stats(&stats);
	return stats.live_bytes;
}

static void run(void)
{
	find_device();
	make_context();
	take_memory();
	launch_all();
	ask_with_little_room();
	move_bytes();
	look_whether_events_can_be_set();
	throw_event_away();
	wait_for_events_of_ours();
	wait_for_all();
	wait_in_vain();
	launch_all();
	errors_at("full");
	ask_for_too_much();
	free_memory();
	errors_at("free");
	end_context();
	errors_at("end");
}

static void begin(void)
{
	find_device();
	make_context();
	errors_must(have.kernel ? CL_SUCCESS : CL_INVALID_KERNEL);
}

static void step(void)
{
	const size_t one = 1;

	errors_must(clEnqueueNDRangeKernel(
		have.queue, have.kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
	errors_must(clFinish(have.queue));
}

const struct errors_program errors_program = {run, begin, step};
