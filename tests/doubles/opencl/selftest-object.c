/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <CL/cl_icd.h>
#include <stdatomic.h>
#include <string.h>

/* Tests of handles: counts, stale and wrong ones, sub-devices, queries, injected
 * failures. */

static void counts_are_kept_for_every_type(void)
{
	struct cleave_double_stats stats;
	cl_command_queue q;
	cl_sampler sampler;
	struct rig rig;
	cl_event event;
	cl_uint n;
	cl_mem mem;

	rig_init(&rig);
	q = rig_queue(&rig, 0);
	mem = clCreateBuffer(rig.context, 0, 64, NULL, NULL);
	sampler = clCreateSampler(
		rig.context, CL_TRUE, CL_ADDRESS_REPEAT, CL_FILTER_LINEAR, NULL);
	event = rig_run(&rig, q, 0, NULL);
#define COUNT(retain, release, info, param, object)           \
	do {                                                  \
		OK(info(object, param, sizeof(n), &n, NULL)); \
		CHECK(n == 1);                                \
		OK(retain(object));                           \
		OK(info(object, param, sizeof(n), &n, NULL)); \
		CHECK(n == 2);                                \
		OK(release(object));                          \
		OK(info(object, param, sizeof(n), &n, NULL)); \
		CHECK(n == 1);                                \
	} while (0)
	COUNT(clRetainContext, clReleaseContext, clGetContextInfo,
		CL_CONTEXT_REFERENCE_COUNT, rig.context);
	COUNT(clRetainCommandQueue, clReleaseCommandQueue, clGetCommandQueueInfo,
		CL_QUEUE_REFERENCE_COUNT, q);
	COUNT(clRetainMemObject, clReleaseMemObject, clGetMemObjectInfo,
		CL_MEM_REFERENCE_COUNT, mem);
	COUNT(clRetainSampler, clReleaseSampler, clGetSamplerInfo,
		CL_SAMPLER_REFERENCE_COUNT, sampler);
	COUNT(clRetainProgram, clReleaseProgram, clGetProgramInfo,
		CL_PROGRAM_REFERENCE_COUNT, rig.program);
	COUNT(clRetainKernel, clReleaseKernel, clGetKernelInfo, CL_KERNEL_REFERENCE_COUNT,
		rig.nop);
	COUNT(clRetainEvent, clReleaseEvent, clGetEventInfo, CL_EVENT_REFERENCE_COUNT,
		event);
#undef COUNT
	OK(clFinish(q));
	OK(clReleaseEvent(event));
	OK(clReleaseSampler(sampler));
	OK(clReleaseMemObject(mem));
	OK(clReleaseCommandQueue(q));
	OK(clReleaseKernel(rig.nop));
	OK(clReleaseKernel(rig.spin));
	OK(clReleaseProgram(rig.program));
	stats_now(&rig, &stats);
	CHECK(stats.live_events == 0 && stats.live_mem_objects == 0);
	CHECK(stats.live_kernels == 0 && stats.live_programs == 0);
	CHECK(stats.live_queues == 0 && stats.live_contexts == 1);
	OK(clReleaseContext(rig.context));
	stats_now(&rig, &stats);
	CHECK(stats.live_contexts == 0);
}

static void released_twice_queue(void)
{
	cl_command_queue q;
	struct rig rig;

	rig_init(&rig);
	q = rig_queue(&rig, 0);
	OK(clReleaseCommandQueue(q));
	clReleaseCommandQueue(q);
}

static void released_twice_mem(void)
{
	struct rig rig;
	cl_mem mem;

	rig_init(&rig);
	mem = clCreateBuffer(rig.context, 0, 64, NULL, NULL);
	OK(clReleaseMemObject(mem));
	clReleaseMemObject(mem);
}

static void released_twice_event(void)
{
	cl_command_queue q;
	struct rig rig;
	cl_event event;

	rig_init(&rig);
	q = rig_queue(&rig, 0);
	event = rig_run(&rig, q, 0, NULL);
	OK(clReleaseEvent(event));
	/* The command is not complete: the object is still there, the reference is not.
	 */
	clReleaseEvent(event);
}

static void freed_what_is_not_allocated(void)
{
	struct rig rig;
	void *p;

	rig_init(&rig);
	p = clSVMAlloc(rig.context, CL_MEM_READ_WRITE, 64, 0);
	clSVMFree(rig.context, p);
	clSVMFree(rig.context, p);
}

static void wrong_handles_are_told(void)
{
	cl_command_queue q;
	size_t one = 1, zero = 0;
	struct rig rig, other;
	cl_event event, foreign;
	char byte;
	cl_mem mem;
	cl_int rc;

	rig_init(&rig);
	rig_init(&other);
	q = rig_queue(&rig, 0);
	mem = clCreateBuffer(other.context, 0, 64, NULL, &rc);
	OK(rc);
	foreign = clCreateUserEvent(other.context, &rc);
	OK(rc);
	CHECK_CL(CL_INVALID_COMMAND_QUEUE, clFlush((cl_command_queue)(void *)mem));
	CHECK_CL(CL_INVALID_MEM_OBJECT, clRetainMemObject((cl_mem)(void *)q));
	CHECK_CL(CL_INVALID_KERNEL, clEnqueueNDRangeKernel(q, (cl_kernel)(void *)mem, 1,
					    NULL, &one, NULL, 0, NULL, NULL));
	CHECK_CL(CL_INVALID_CONTEXT,
		clEnqueueReadBuffer(q, mem, CL_TRUE, 0, 1, &byte, 0, NULL, NULL));
	CHECK_CL(CL_INVALID_CONTEXT,
		clEnqueueNDRangeKernel(q, other.nop, 1, NULL, &one, NULL, 0, NULL, NULL));
	CHECK_CL(CL_INVALID_CONTEXT, clEnqueueNDRangeKernel(q, rig.nop, 1, NULL, &one,
					     NULL, 1, &foreign, &event));
	CHECK_CL(CL_INVALID_EVENT_WAIT_LIST,
		clEnqueueNDRangeKernel(q, rig.nop, 1, NULL, &one, NULL, 1, NULL, &event));
	CHECK_CL(CL_INVALID_WORK_DIMENSION,
		clEnqueueNDRangeKernel(q, rig.nop, 4, NULL, &one, NULL, 0, NULL, NULL));
	CHECK_CL(CL_INVALID_WORK_GROUP_SIZE,
		clEnqueueNDRangeKernel(q, rig.nop, 1, NULL, &one, &zero, 0, NULL, NULL));
	CHECK(clCreateBuffer(rig.context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 1, NULL,
		      &rc) == NULL);
	CHECK_CL(CL_INVALID_VALUE, rc);
	CHECK(clCreateBuffer(rig.context, CL_MEM_USE_HOST_PTR, 1, NULL, &rc) == NULL);
	CHECK_CL(CL_INVALID_HOST_PTR, rc);
	OK(clReleaseMemObject(mem));
	/* Dead, but not yet reused: still detected. */
	CHECK_CL(CL_INVALID_MEM_OBJECT,
		clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof(one), &one, NULL));
	OK(clReleaseEvent(foreign));
	OK(clReleaseCommandQueue(q));
	rig_done(&other);
	rig_done(&rig);
}

static void the_nth_enqueue_fails(void)
{
	cl_command_queue q;
	cl_event event = NULL;
	size_t one = 1;
	struct rig rig;

	rig_init(&rig);
	q = rig_keep_queue(&rig, 0);
	OK(clEnqueueNDRangeKernel(q, rig.nop, 1, NULL, &one, NULL, 0, NULL, NULL));
	CHECK_CL(CL_OUT_OF_RESOURCES,
		clEnqueueNDRangeKernel(q, rig.nop, 1, NULL, &one, NULL, 0, NULL, &event));
	CHECK(event == NULL);
	OK(clEnqueueNDRangeKernel(q, rig.nop, 1, NULL, &one, NULL, 0, NULL, NULL));
	OK(clFinish(q));
	rig_done(&rig);
}

static void devices_divide(void)
{
	const cl_device_partition_property equally[] = {
		CL_DEVICE_PARTITION_EQUALLY, 5, 0};
	const cl_device_partition_property counts[] = {CL_DEVICE_PARTITION_BY_COUNTS, 3,
		7, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
	const cl_device_partition_property too_many[] = {CL_DEVICE_PARTITION_BY_COUNTS, 9,
		9, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
	cl_device_id subs[8], devices[4], parent;
	cl_context context;
	cl_command_queue q;
	cl_uint n, units;
	struct rig rig;
	cl_int rc;

	rig_init(&rig);
	OK(clGetDeviceIDs(rig.platform, CL_DEVICE_TYPE_GPU, 4, devices, &n));
	CHECK(n == 2 && devices[0] != devices[1]);
	OK(clCreateSubDevices(rig.device, equally, 8, subs, &n));
	CHECK(n == 2);
	OK(clReleaseDevice(subs[0]));
	OK(clReleaseDevice(subs[1]));
	CHECK_CL(CL_INVALID_DEVICE_PARTITION_COUNT,
		clCreateSubDevices(rig.device, too_many, 8, subs, &n));
	OK(clCreateSubDevices(rig.device, counts, 8, subs, &n));
	CHECK(n == 2);
	OK(clGetDeviceInfo(
		subs[1], CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL));
	CHECK(units == 7);
	OK(clGetDeviceInfo(
		subs[1], CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent, NULL));
	CHECK(parent == rig.device);
	context = clCreateContext(NULL, 2, subs, NULL, NULL, &rc);
	OK(rc);
	q = clCreateCommandQueueWithProperties(context, subs[1], NULL, &rc);
	OK(rc);
	OK(clReleaseDevice(subs[0]));
	OK(clReleaseDevice(subs[1]));
	OK(clEnqueueBarrierWithWaitList(q, 0, NULL, NULL));
	OK(clFinish(q));
	OK(clReleaseCommandQueue(q));
	OK(clReleaseContext(context));
	rig_done(&rig);
}

static void programs_are_queried(void)
{
	const char *text = "#define X 1\nkernel void first(global int *a, uint n) {}\n"
			   "__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
			   "void second(void) {}\n";
	cl_kernel kernels[2];
	unsigned char *binary;
	const unsigned char *binaries[1];
	cl_program program, again;
	size_t n_kernels, bytes;
	char names[64];
	struct rig rig;
	cl_uint n;
	cl_int rc;

	rig_init(&rig);
	program = clCreateProgramWithSource(rig.context, 1, &text, NULL, &rc);
	OK(rc);
	CHECK(clCreateKernel(program, "first", &rc) == NULL);
	CHECK_CL(CL_INVALID_PROGRAM_EXECUTABLE, rc);
	OK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
	OK(clGetProgramInfo(
		program, CL_PROGRAM_NUM_KERNELS, sizeof(n_kernels), &n_kernels, NULL));
	OK(clGetProgramInfo(
		program, CL_PROGRAM_KERNEL_NAMES, sizeof(names), names, NULL));
	CHECK(n_kernels == 2 && strcmp(names, "first;second") == 0);
	OK(clCreateKernelsInProgram(program, 2, kernels, &n));
	OK(clGetKernelInfo(kernels[0], CL_KERNEL_NUM_ARGS, sizeof(n), &n, NULL));
	CHECK(n == 2);
	OK(clReleaseKernel(kernels[0]));
	OK(clReleaseKernel(kernels[1]));
	OK(clGetProgramInfo(
		program, CL_PROGRAM_BINARY_SIZES, sizeof(bytes), &bytes, NULL));
	binary = malloc(bytes);
	CHECK(binary != NULL);
	OK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL));
	binaries[0] = binary;
	again = clCreateProgramWithBinary(
		rig.context, 1, &rig.device, &bytes, binaries, NULL, &rc);
	OK(rc);
	OK(clBuildProgram(again, 0, NULL, NULL, NULL, NULL));
	OK(clReleaseProgram(again));
	OK(clReleaseProgram(program));
	free(binary);
	rig_done(&rig);
}

static void queues_are_made_in_every_way(void)
{
	const cl_queue_properties unknown[] = {CL_QUEUE_PROPERTIES, 1 << 20, 0};
	const cl_queue_properties list[] = {
		CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
	clCreateCommandQueueWithPropertiesKHR_fn create;
	cl_queue_properties got[4] = {0};
	cl_command_queue_properties props;
	cl_command_queue q;
	struct rig rig;
	cl_int rc;

	rig_init(&rig);
	q = clCreateCommandQueue(
		rig.context, rig.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &rc);
	OK(rc);
	OK(clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof(props), &props, NULL));
	CHECK(props == CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	OK(clReleaseCommandQueue(q));
	create = (clCreateCommandQueueWithPropertiesKHR_fn)by_name(
		&rig, "clCreateCommandQueueWithPropertiesKHR");
	q = create(rig.context, rig.device, list, &rc);
	OK(rc);
	OK(clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, sizeof(got), got, NULL));
	CHECK(memcmp(got, list, sizeof(list)) == 0);
	OK(clReleaseCommandQueue(q));
	CHECK(create(rig.context, rig.device, unknown, &rc) == NULL);
	CHECK_CL(CL_INVALID_VALUE, rc);
	rig_done(&rig);
}

static void every_entry_but_direct3d_is_there(void)
{
	const cl_icd_dispatch *table;
	void *const *slots;
	struct rig rig;
	int empty = 0;

	rig_init(&rig);
	/* Every handle starts with a pointer to the table. */
	memcpy(&table, rig.context, sizeof(table));
	slots = (void *const *)table;
	for (size_t i = 0; i < sizeof(*table) / sizeof(void *); i++)
		empty += slots[i] == NULL;
	CHECK(table->clGetDeviceIDsFromD3D10KHR == NULL);
	CHECK(empty == 16);
	CHECK(clGetExtensionFunctionAddressForPlatform(rig.platform, "clNoSuchCLEAVE") ==
		NULL);
	rig_done(&rig);
}

static void other_kernels_take_what_the_knob_says(void)
{
	cl_command_queue q;
	size_t one = 1;
	cl_kernel kernel;
	struct rig rig;
	cl_event event;
	cl_int rc;

	rig_init(&rig);
	q = rig_keep_queue(&rig, CL_QUEUE_PROFILING_ENABLE);
	kernel = clCreateKernel(rig.program, "any_name", &rc);
	OK(rc);
	OK(clEnqueueNDRangeKernel(q, kernel, 1, NULL, &one, NULL, 0, NULL, &event));
	OK(clWaitForEvents(1, &event));
	CHECK(profiled(event, CL_PROFILING_COMMAND_END) -
			profiled(event, CL_PROFILING_COMMAND_START) >=
		700000);
	OK(clReleaseEvent(event));
	OK(clReleaseKernel(kernel));
	rig_done(&rig);
}

static _Atomic int contexts_gone;

static void CL_CALLBACK context_gone(cl_context context, void *user)
{
	atomic_fetch_add(&contexts_gone, 1);
}

static void a_context_lives_as_long_as_what_is_in_it(void)
{
	struct rig rig;
	cl_mem mem;

	rig_init(&rig);
	OK(clSetContextDestructorCallback(rig.context, context_gone, NULL));
	mem = clCreateBuffer(rig.context, 0, 64, NULL, NULL);
	rig_done(&rig);
	CHECK(atomic_load(&contexts_gone) == 0);
	OK(clReleaseMemObject(mem));
	CHECK(atomic_load(&contexts_gone) == 1);
}

/* clang-format off */
#define CASE(name_, ...) { .name = #name_, .run = name_, __VA_ARGS__ }
#define TWICE "released more often than it was retained"
const struct selftest_case selftest_object[] = {
	CASE(counts_are_kept_for_every_type),
	CASE(released_twice_queue, .dies_with = TWICE),
	CASE(released_twice_mem, .dies_with = TWICE),
	CASE(released_twice_event, .dies_with = TWICE),
	CASE(freed_what_is_not_allocated, .dies_with = "which is not allocated"),
	CASE(wrong_handles_are_told),
	CASE(the_nth_enqueue_fails, .env = { "CLEAVE_DOUBLE_FAIL_ENQUEUE=2" }),
	CASE(devices_divide,
		.env = { "CLEAVE_DOUBLE_DEVICES=2", "CLEAVE_DOUBLE_COMPUTE_UNITS=10" }),
	CASE(programs_are_queried),
	CASE(queues_are_made_in_every_way),
	CASE(every_entry_but_direct3d_is_there),
	CASE(other_kernels_take_what_the_knob_says, .env = { "CLEAVE_DOUBLE_KERNEL_US=700" }),
	CASE(a_context_lives_as_long_as_what_is_in_it),
	{ 0 },
};
/* clang-format on */
