/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Tests of events: profiling, callbacks, native kernels, command buffers. */

static void profiling_is_in_order(void)
{
	static const cl_profiling_info params[] = {CL_PROFILING_COMMAND_QUEUED,
		CL_PROFILING_COMMAND_SUBMIT, CL_PROFILING_COMMAND_START,
		CL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_COMPLETE};
	cl_event spin, marker, plain;
	cl_command_queue q, no_profiling;
	cl_ulong ns[5], ignored, host_ns, device_ns;
	struct rig rig;

	rig_init(&rig);
	q = rig_keep_queue(&rig, CL_QUEUE_PROFILING_ENABLE);
	no_profiling = rig_keep_queue(&rig, 0);
	spin = rig_keep_run(&rig, q, 3000, NULL);
	OK(clEnqueueMarkerWithWaitList(q, 0, NULL, &marker));
	CHECK_CL(CL_PROFILING_INFO_NOT_AVAILABLE,
		clGetEventProfilingInfo(spin, CL_PROFILING_COMMAND_QUEUED,
			sizeof(ignored), &ignored, NULL));
	nap_ms(5);
	OK(clFinish(q));
	for (int i = 0; i < 5; i++)
		ns[i] = profiled(spin, params[i]);
	CHECK(ns[1] - ns[0] >= 5000000 && ns[0] < ns[1]);
	CHECK(ns[1] <= ns[2] && ns[2] < ns[3] && ns[3] == ns[4]);
	CHECK(ns[3] - ns[2] >= 3000000 && ns[3] - ns[2] < 300000000);
	CHECK(profiled(marker, CL_PROFILING_COMMAND_START) >= ns[3]);
	OK(clGetDeviceAndHostTimer(rig.device, &device_ns, &host_ns));
	CHECK(device_ns >= ns[3]);

	plain = rig_keep_run(&rig, no_profiling, 0, NULL);
	OK(clFinish(no_profiling));
	CHECK_CL(CL_PROFILING_INFO_NOT_AVAILABLE,
		clGetEventProfilingInfo(plain, CL_PROFILING_COMMAND_END, sizeof(ignored),
			&ignored, NULL));
	OK(clReleaseEvent(marker));
	rig_done(&rig);
}

struct seen {
	_Atomic int n;
	cl_int status[8];
	long thread;
};

static void CL_CALLBACK note(cl_event event, cl_int status, void *user)
{
	struct seen *seen = user;
	cl_int now;

	/* The event may be queried even after its last reference was released. */
	OK(clGetEventInfo(
		event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(now), &now, NULL));
	CHECK(now <= status);
	seen->thread = syscall(SYS_gettid);
	seen->status[atomic_load(&seen->n)] = status;
	atomic_fetch_add(&seen->n, 1);
}

static void wait_seen(struct seen *seen, int n)
{
	while (atomic_load(&seen->n) < n)
		nap_ms(1);
}

static void callbacks_run_on_another_thread(void)
{
	struct seen seen = {0}, late = {0}, failed = {0};
	cl_command_queue q;
	cl_event event, user;
	struct rig rig;
	cl_int rc;

	rig_init(&rig);
	q = rig_keep_queue(&rig, 0);
	event = rig_run(&rig, q, 1000, NULL);
	OK(clSetEventCallback(event, CL_COMPLETE, note, &seen));
	OK(clSetEventCallback(event, CL_RUNNING, note, &seen));
	OK(clSetEventCallback(event, CL_SUBMITTED, note, &seen));
	nap_ms(NAP_MS);
	CHECK(atomic_load(&seen.n) == 0);
	OK(clFinish(q));
	wait_seen(&seen, 3);
	CHECK(seen.status[0] == CL_SUBMITTED && seen.status[1] == CL_RUNNING &&
		seen.status[2] == CL_COMPLETE);
	CHECK(seen.thread != syscall(SYS_gettid));

	OK(clSetEventCallback(event, CL_COMPLETE, note, &late));
	OK(clReleaseEvent(event));
	wait_seen(&late, 1);
	CHECK(late.status[0] == CL_COMPLETE && late.thread != syscall(SYS_gettid));

	user = clCreateUserEvent(rig.context, &rc);
	OK(rc);
	OK(clSetEventCallback(user, CL_COMPLETE, note, &failed));
	OK(clSetUserEventStatus(user, -7));
	OK(clReleaseEvent(user));
	wait_seen(&failed, 1);
	CHECK(failed.status[0] == -7);
	CHECK_CL(CL_INVALID_EVENT, clSetEventCallback(NULL, CL_COMPLETE, note, NULL));
	rig_done(&rig);
}

struct chain {
	const struct rig *rig;
	cl_command_queue q;
	_Atomic int left;
};

static void CL_CALLBACK enqueue_next(cl_event event, cl_int status, void *user)
{
	struct chain *chain = user;
	cl_event next;

	if (atomic_fetch_sub(&chain->left, 1) == 1)
		return;
	next = rig_run(chain->rig, chain->q, 0, NULL);
	OK(clSetEventCallback(next, CL_COMPLETE, enqueue_next, chain));
	OK(clReleaseEvent(next));
	OK(clFlush(chain->q));
}

static void a_callback_may_enqueue(void)
{
	struct chain chain = {.left = 50};
	struct rig rig;
	cl_event event;

	rig_init(&rig);
	chain.rig = &rig;
	chain.q = rig_queue(&rig, 0);
	event = rig_run(&rig, chain.q, 0, NULL);
	OK(clSetEventCallback(event, CL_COMPLETE, enqueue_next, &chain));
	OK(clReleaseEvent(event));
	OK(clFlush(chain.q));
	while (atomic_load(&chain.left) > 0)
		nap_ms(1);
	OK(clFinish(chain.q));
	OK(clReleaseCommandQueue(chain.q));
	rig_done(&rig);
}

struct native_args {
	void *data;
	_Atomic int *ran;
};

static void CL_CALLBACK native(void *arg)
{
	struct native_args *args = arg;

	memset(args->data, 7, 16);
	atomic_fetch_add(args->ran, 1);
}

static void native_kernels_run_in_their_turn(void)
{
	struct native_args args = {0};
	const void *loc = &args.data;
	_Atomic int ran = 0;
	cl_command_queue q;
	struct rig rig;
	char bytes[16] = {0};
	cl_mem mem;
	cl_int rc;

	rig_init(&rig);
	q = rig_keep_queue(&rig, 0);
	mem = clCreateBuffer(rig.context, CL_MEM_READ_WRITE, 16, NULL, &rc);
	OK(rc);
	args.ran = &ran;
	OK(clEnqueueNativeKernel(
		q, native, &args, sizeof(args), 1, &mem, &loc, 0, NULL, NULL));
	nap_ms(NAP_MS);
	CHECK(atomic_load(&ran) == 0);
	OK(clEnqueueReadBuffer(q, mem, CL_TRUE, 0, 16, bytes, 0, NULL, NULL));
	CHECK(atomic_load(&ran) == 1 && bytes[15] == 7);
	OK(clReleaseMemObject(mem));
	rig_done(&rig);
}

static void command_buffers_run_as_one(void)
{
	clCreateCommandBufferKHR_fn create;
	clFinalizeCommandBufferKHR_fn finalize;
	clEnqueueCommandBufferKHR_fn enqueue;
	clReleaseCommandBufferKHR_fn release;
	clRemapCommandBufferKHR_fn remap;
	clCommandNDRangeKernelKHR_fn kernel;
	clCommandFillBufferKHR_fn fill;
	cl_command_buffer_khr buffer, copy;
	cl_sync_point_khr point;
	cl_command_queue q, other;
	cl_uint us = 2000, pattern = 9, value = 0;
	cl_event event;
	size_t one = 1;
	struct rig rig;
	cl_mem mem;
	cl_int rc;

	rig_init(&rig);
	create = (clCreateCommandBufferKHR_fn)by_name(&rig, "clCreateCommandBufferKHR");
	finalize = (clFinalizeCommandBufferKHR_fn)by_name(
		&rig, "clFinalizeCommandBufferKHR");
	enqueue =
		(clEnqueueCommandBufferKHR_fn)by_name(&rig, "clEnqueueCommandBufferKHR");
	release =
		(clReleaseCommandBufferKHR_fn)by_name(&rig, "clReleaseCommandBufferKHR");
	remap = (clRemapCommandBufferKHR_fn)by_name(&rig, "clRemapCommandBufferKHR");
	kernel = (clCommandNDRangeKernelKHR_fn)by_name(&rig, "clCommandNDRangeKernelKHR");
	fill = (clCommandFillBufferKHR_fn)by_name(&rig, "clCommandFillBufferKHR");
	q = rig_keep_queue(&rig, CL_QUEUE_PROFILING_ENABLE);
	other = rig_keep_queue(&rig, 0);
	mem = clCreateBuffer(rig.context, CL_MEM_READ_WRITE, 16, NULL, &rc);
	OK(rc);
	buffer = create(1, &q, NULL, &rc);
	OK(rc);
	OK(clSetKernelArg(rig.spin, 0, sizeof(us), &us));
	for (int i = 0; i < 2; i++)
		OK(kernel(buffer, NULL, NULL, rig.spin, 1, NULL, &one, NULL, 0, NULL,
			&point, NULL));
	OK(fill(buffer, NULL, mem, &pattern, 4, 0, 16, 1, &point, NULL, NULL));
	/* The buffer holds its objects. */
	CHECK_CL(CL_INVALID_OPERATION, enqueue(0, NULL, buffer, 0, NULL, NULL));
	CHECK(!remap(buffer, CL_FALSE, 1, &other, 0, NULL, NULL, &rc) &&
		rc == CL_INVALID_OPERATION);
	OK(finalize(buffer));
	OK(enqueue(0, NULL, buffer, 0, NULL, &event));
	CHECK_CL(CL_INVALID_OPERATION, enqueue(0, NULL, buffer, 0, NULL, NULL));
	nap_ms(NAP_MS);
	CHECK(status_of(event) == CL_QUEUED);
	OK(clFinish(q));
	CHECK(profiled(event, CL_PROFILING_COMMAND_END) -
			profiled(event, CL_PROFILING_COMMAND_START) >=
		4000000);
	OK(clEnqueueReadBuffer(q, mem, CL_TRUE, 12, 4, &value, 0, NULL, NULL));
	CHECK(value == 9);
	OK(clReleaseEvent(event));
	OK(enqueue(0, NULL, buffer, 0, NULL, NULL));
	OK(clFinish(q));
	copy = remap(buffer, CL_FALSE, 1, &other, 0, NULL, NULL, &rc);
	OK(rc);
	OK(release(buffer));
	value = 0;
	OK(clEnqueueWriteBuffer(other, mem, CL_FALSE, 12, 4, &value, 0, NULL, NULL));
	OK(enqueue(0, NULL, copy, 0, NULL, NULL));
	OK(clEnqueueReadBuffer(other, mem, CL_TRUE, 12, 4, &value, 0, NULL, NULL));
	CHECK(value == 9);
	OK(release(copy));
	OK(clReleaseMemObject(mem));
	rig_done(&rig);
}

static void a_wait_list_of_many(void)
{
	cl_command_queue a, b;
	cl_event events[40], last;
	struct rig rig;

	rig_init(&rig);
	a = rig_keep_queue(&rig, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	b = rig_keep_queue(&rig, 0);
	for (int i = 0; i < 40; i++)
		events[i] = rig_run(&rig, a, 0, NULL);
	OK(clEnqueueMarkerWithWaitList(b, 40, events, &last));
	OK(clFlush(b));
	for (int i = 0; i < 40; i++)
		OK(clReleaseEvent(events[i]));
	nap_ms(NAP_MS);
	CHECK(status_of(last) == CL_SUBMITTED);
	OK(clFlush(a));
	OK(clWaitForEvents(1, &last));
	OK(clReleaseEvent(last));
	rig_done(&rig);
}

/* clang-format off */
#define CASE(name_, ...) { .name = #name_, .run = name_, __VA_ARGS__ }
const struct selftest_case selftest_event[] = {
	CASE(profiling_is_in_order),
	CASE(callbacks_run_on_another_thread),
	CASE(a_callback_may_enqueue),
	CASE(native_kernels_run_in_their_turn),
	CASE(command_buffers_run_as_one),
	CASE(a_wait_list_of_many),
	{ 0 },
};
/* clang-format on */
