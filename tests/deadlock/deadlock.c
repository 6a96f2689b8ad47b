/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that would hang if the gate held back, waited for, or failed to flush the
 * wrong command. Each run has one case; each case is correct without the gate, ends
 * within a second or two, and checks what it can see. "competitor" keeps the device busy
 * until it is killed. */
#include "program.h"

#include <CL/cl_ext.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static void *set_later(void *userdata)
{
	usleep(50000);
	CHECK(clSetUserEventStatus(userdata, CL_COMPLETE));
	return NULL;
}

static pthread_t set_from_thread(cl_event event)
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, set_later, event) == 0);
	return thread;
}

static void other_queue_flushed_later(void)
{
	cl_command_queue a = open_queue(0), b = open_queue(0);
	cl_event first;

	for (int i = 0; i < 50; i++) {
		launch(a, 100, 0, NULL, &first);
		launch(b, 100, 1, &first, NULL);
		CHECK(clFlush(b));
		CHECK(clFlush(a));
		CHECK(clFinish(b));
		CHECK(clReleaseEvent(first));
	}
}

/* Far more commands than any window holds, and not one flush before the end. */
static void flushed_at_the_end(void)
{
	cl_command_queue queue = open_queue(0);

	for (int i = 0; i < 500; i++)
		launch(queue, 200, 0, NULL, NULL);
	CHECK(clFinish(queue));
}

static void two_queues_flushed_at_the_end(void)
{
	cl_command_queue a = open_queue(0), b = open_queue(0);
	cl_event before = NULL, event;

	for (int i = 0; i < 500; i++) {
		launch(i % 2 ? a : b, 200, before != NULL, before ? &before : NULL,
			&event);
		if (before)
			CHECK(clReleaseEvent(before));
		before = event;
	}
	CHECK(clFlush(a));
	CHECK(clFlush(b));
	CHECK(clFinish(a));
	CHECK(clFinish(b));
}

static void user_event_in_order(void)
{
	cl_command_queue queue = open_queue(0);
	cl_event gate = user_event(), behind;
	pthread_t thread;

	launch(queue, 100, 0, NULL, NULL);
	launch(queue, 100, 1, &gate, NULL);
	launch(queue, 100, 0, NULL, &behind);
	CHECK(clFlush(queue));
	EXPECT(status_of(behind) > CL_COMPLETE);
	thread = set_from_thread(gate);
	CHECK(clFinish(queue));
	EXPECT(status_of(behind) == CL_COMPLETE);
	pthread_join(thread, NULL);
}

/* Blocked commands must not fill the window for others. */
static void user_event_beside_work(void)
{
	cl_command_queue held = open_queue(0), busy = open_queue(0);
	cl_event gate = user_event();

	for (int i = 0; i < 100; i++)
		launch(held, 500, i == 0, i == 0 ? &gate : NULL, NULL);
	for (int i = 0; i < 300; i++)
		launch(busy, 100, 0, NULL, NULL);
	CHECK(clFinish(busy));
	CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
	CHECK(clFinish(held));
}

/* rusticl reports the end of a command later than clFinish returns. */
static bool tells_late(void)
{
	char name[64] = "";

	CHECK(clGetPlatformInfo(platform, CL_PLATFORM_VENDOR, sizeof(name), name, NULL));
	return strncmp(name, "Mesa", 4) == 0;
}

/* The case does not flush: with some drivers a finish ignores commands that were flushed
 * before. */
static void finished_is_complete(void)
{
	cl_command_queue queue = open_queue(0), other = open_queue(0);
	cl_int r;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &r);

	CHECK(r);
	for (cl_uchar i = 1; i <= 50; i++) {
		cl_uchar found = 0;
		cl_event last;

		for (int k = 0; k < 30; k++)
			launch(queue, 200, 0, NULL, NULL);
		CHECK(clEnqueueFillBuffer(queue, buffer, &i, 1, 0, 64, 0, NULL, &last));
		CHECK(clFinish(queue));
		EXPECT(tells_late() || status_of(last) == CL_COMPLETE);
		CHECK(clReleaseEvent(last));
		CHECK(clEnqueueReadBuffer(
			other, buffer, CL_TRUE, 0, 1, &found, 0, NULL, NULL));
		EXPECT(found == i);
	}
	CHECK(clReleaseMemObject(buffer));
}

static void user_event_out_of_order(void)
{
	cl_command_queue queue = open_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_event gate = user_event(), free_event, held;

	for (int i = 0; i < 20; i++) {
		launch(queue, 200, 1, &gate, &held);
		launch(queue, 200, 0, NULL, &free_event);
		CHECK(clFlush(queue));
		CHECK(clWaitForEvents(1, &free_event));
		EXPECT(status_of(held) > CL_COMPLETE);
	}
	CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
	CHECK(clWaitForEvents(1, &held));
	CHECK(clFinish(queue));
}

static void user_event_across_queues(void)
{
	cl_command_queue a = open_queue(0), b = open_queue(0);
	cl_command_queue c = open_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_event gate = user_event(), first, second, marker, last;

	launch(a, 100, 1, &gate, &first);
	launch(b, 100, 1, &first, &second);
	CHECK(clEnqueueMarkerWithWaitList(c, 1, &second, &marker));
	CHECK(clEnqueueBarrierWithWaitList(c, 1, &marker, NULL));
	launch(c, 100, 0, NULL, &last);
	CHECK(clFlush(a));
	CHECK(clFlush(b));
	CHECK(clFlush(c));
	EXPECT(status_of(last) > CL_COMPLETE);
	CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
	CHECK(clFinish(c));
	EXPECT(status_of(last) == CL_COMPLETE);
}

static void blocking_read_behind_user_event(void)
{
	cl_command_queue queue = open_queue(0);
	cl_event gate = user_event();
	char bytes[64];
	pthread_t thread;
	cl_int r;
	cl_mem buffer =
		clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(bytes), NULL, &r);

	CHECK(r);
	launch(queue, 100, 1, &gate, NULL);
	thread = set_from_thread(gate);
	CHECK(clEnqueueReadBuffer(
		queue, buffer, CL_TRUE, 0, sizeof(bytes), bytes, 0, NULL, NULL));
	pthread_join(thread, NULL);
	launch(queue, 100, 0, NULL, NULL);
	CHECK(clFinish(queue));
	CHECK(clReleaseMemObject(buffer));
}

/* A hundred commands are held, and only some of them fit into the window at a time, while
 * a thread waits inside the driver for all of them. */
static cl_command_queue queue_of_held(pthread_t *ret_setter)
{
	cl_command_queue queue = open_queue(0);
	cl_event gate = user_event();

	for (int i = 0; i < 100; i++)
		launch(queue, 500, i == 0, i == 0 ? &gate : NULL, NULL);
	*ret_setter = set_from_thread(gate);
	return queue;
}

static void finish_behind_user_event(void)
{
	pthread_t thread;
	cl_command_queue queue = queue_of_held(&thread);

	CHECK(clFinish(queue));
	pthread_join(thread, NULL);
}

static void read_behind_many_held(void)
{
	pthread_t thread;
	cl_command_queue queue = queue_of_held(&thread);
	char byte;
	cl_int r;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &r);

	CHECK(r);
	CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 1, &byte, 0, NULL, NULL));
	pthread_join(thread, NULL);
	CHECK(clReleaseMemObject(buffer));
}

static void *finish(void *queue)
{
	CHECK(clFinish(queue));
	return NULL;
}

/* While a thread waits inside the driver for a queue with held commands, the gate submits
 * those of other queues. */
static void work_beside_finish(void)
{
	cl_command_queue waited = open_queue(0), busy = open_queue(0);
	cl_event first = user_event(), second = user_event(), last = NULL;
	pthread_t thread;

	launch(waited, 100, 1, &first, NULL);
	launch(waited, 100, 1, &second, NULL);
	EXPECT(pthread_create(&thread, NULL, finish, waited) == 0);
	usleep(20000);
	CHECK(clSetUserEventStatus(first, CL_COMPLETE));
	for (int i = 0; i < 1000; i++) {
		launch(busy, 500, 0, NULL, i < 999 ? NULL : &last);
		CHECK(clFlush(busy));
	}
	CHECK(clWaitForEvents(1, &last));
	usleep(1500000);
	CHECK(clSetUserEventStatus(second, CL_COMPLETE));
	pthread_join(thread, NULL);
}

static struct {
	cl_command_queue queue;
	_Atomic int n_left;
} chain;

static void CL_CALLBACK next_link(cl_event event, cl_int status, void *userdata)
{
	clReleaseEvent(event);
	if (atomic_fetch_sub(&chain.n_left, 1) > 1) {
		launch(chain.queue, 200, 0, NULL, &event);
		CHECK(clSetEventCallback(event, CL_COMPLETE, next_link, NULL));
		CHECK(clFlush(chain.queue));
	}
}

static void launches_from_callbacks(void)
{
	cl_event event;

	chain.queue = open_queue(0);
	atomic_store(&chain.n_left, 50);
	launch(chain.queue, 200, 0, NULL, &event);
	CHECK(clSetEventCallback(event, CL_COMPLETE, next_link, NULL));
	CHECK(clFlush(chain.queue));
	while (atomic_load(&chain.n_left) > 0)
		usleep(1000);
	CHECK(clFinish(chain.queue));
}

/* A command submitted by a callback is held, and commands that the program submits behind
 * it into the same queue have to keep their order. */
static void thread_and_callbacks_in_one_queue(void)
{
	cl_event event;

	chain.queue = open_queue(0);
	atomic_store(&chain.n_left, 50);
	launch(chain.queue, 100, 0, NULL, &event);
	CHECK(clSetEventCallback(event, CL_COMPLETE, next_link, NULL));
	for (int i = 0; i < 200; i++) {
		launch(chain.queue, 100, 0, NULL, NULL);
		if (i % 9 == 0)
			CHECK(clFlush(chain.queue));
		if (i % 31 == 0)
			CHECK(clFinish(chain.queue));
	}
	CHECK(clFlush(chain.queue));
	while (atomic_load(&chain.n_left) > 0)
		usleep(1000);
	CHECK(clFinish(chain.queue));
}

static struct {
	pthread_mutex_t lock;
	_Atomic int n_called;
} counted = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void CL_CALLBACK count_with_lock(cl_event event, cl_int status, void *queue)
{
	pthread_mutex_lock(&counted.lock);
	launch(queue, 50, 0, NULL, NULL);
	pthread_mutex_unlock(&counted.lock);
	CHECK(clReleaseEvent(event));
	atomic_fetch_add(&counted.n_called, 1);
}

/* The thread with the lock may be waiting for its turn, and the driver for the
 * callback. */
static void lock_shared_with_callbacks(void)
{
	enum { N = 60 };
	cl_command_queue queue = open_queue(0), other = open_queue(0);

	for (int i = 0; i < N; i++) {
		cl_event event;

		launch(queue, 200, 0, NULL, &event);
		CHECK(clSetEventCallback(event, CL_COMPLETE, count_with_lock, other));
		CHECK(clFlush(queue));
		pthread_mutex_lock(&counted.lock);
		for (int k = 0; k < 4; k++)
			launch(queue, 200, 0, NULL, NULL);
		pthread_mutex_unlock(&counted.lock);
	}
	CHECK(clFinish(queue));
	while (atomic_load(&counted.n_called) < N)
		usleep(1000);
	CHECK(clFinish(other));
}

static void CL_CALLBACK set_user_event(cl_event event, cl_int status, void *userdata)
{
	CHECK(clSetUserEventStatus(userdata, CL_COMPLETE));
	CHECK(clReleaseEvent(userdata));
}

static void user_event_from_callback(void)
{
	cl_command_queue a = open_queue(0), b = open_queue(0);

	for (int i = 0; i < 20; i++) {
		cl_event gate = user_event(), first;

		launch(a, 100, 0, NULL, &first);
		CHECK(clRetainEvent(gate));
		CHECK(clSetEventCallback(first, CL_COMPLETE, set_user_event, gate));
		launch(b, 100, 1, &gate, NULL);
		CHECK(clFlush(b));
		CHECK(clFlush(a));
		CHECK(clFinish(b));
		CHECK(clReleaseEvent(first));
		CHECK(clReleaseEvent(gate));
	}
}

/* Releasing a queue flushes it; its commands are completed. */
static void queue_released_early(void)
{
	for (int i = 0; i < 100; i++) {
		cl_command_queue queue = open_queue(0);
		cl_event last;

		launch(queue, 200, 0, NULL, NULL);
		launch(queue, 200, 0, NULL, &last);
		CHECK(clReleaseCommandQueue(queue));
		CHECK(clWaitForEvents(1, &last));
		CHECK(clReleaseEvent(last));
	}
}

static void user_event_thrown_away(void)
{
	cl_command_queue queue = open_queue(0);

	for (int i = 0; i < 100; i++) {
		CHECK(clReleaseEvent(user_event()));
		launch(queue, 50, 0, NULL, NULL);
	}
	CHECK(clFinish(queue));
}

static void hundred_user_events(void)
{
	enum { N = 100 };
	cl_command_queue queue = open_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_event gates[N], ends[N];

	for (int i = 0; i < N; i++) {
		gates[i] = user_event();
		launch(queue, 50, 1, &gates[i], &ends[i]);
	}
	CHECK(clFlush(queue));
	for (int i = N - 1; i >= 0; i--) {
		CHECK(clSetUserEventStatus(gates[i], CL_COMPLETE));
		CHECK(clWaitForEvents(1, &ends[i]));
	}
	CHECK(clFinish(queue));
}

static void failed_user_event(void)
{
	cl_command_queue a = open_queue(0), b = open_queue(0);
	cl_event gate = user_event(), end;

	launch(a, 100, 1, &gate, &end);
	CHECK(clFlush(a));
	CHECK(clSetUserEventStatus(gate, -1));
	while (status_of(end) > CL_COMPLETE)
		usleep(1000);
	EXPECT(status_of(end) < 0);
	for (int i = 0; i < 100; i++)
		launch(b, 100, 0, NULL, NULL);
	CHECK(clFinish(b));
}

static void many_queues(void)
{
	enum { N = 300 };
	static cl_command_queue queues[N];

	for (int i = 0; i < N; i++) {
		queues[i] = open_queue(0);
		launch(queues[i], 20, 0, NULL, NULL);
		launch(queues[i], 20, 0, NULL, NULL);
	}
	for (int i = N - 1; i >= 0; i--) {
		CHECK(clFinish(queues[i]));
		CHECK(clReleaseCommandQueue(queues[i]));
	}
}

static cl_command_queue shared_queue;

static void *work_in_thread(void *userdata)
{
	cl_command_queue own = open_queue(0);

	for (int i = 0; i < 60; i++) {
		launch(shared_queue, 50, 0, NULL, NULL);
		launch(own, 50, 0, NULL, NULL);
		if (i % 7 == 0)
			CHECK(clFinish(own));
		if (i % 11 == 0)
			CHECK(clFinish(shared_queue));
	}
	CHECK(clFinish(own));
	CHECK(clReleaseCommandQueue(own));
	return NULL;
}

static void many_threads(void)
{
	enum { N = 8 };
	pthread_t threads[N];

	shared_queue = open_queue(0);
	for (int i = 0; i < N; i++)
		EXPECT(pthread_create(&threads[i], NULL, work_in_thread, NULL) == 0);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	CHECK(clFinish(shared_queue));
}

static void maps_and_shared_memory(void)
{
	cl_command_queue queue = open_queue(0);
	cl_int r;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &r);
	unsigned char *mapped, pattern = 7;
	void *shared;

	CHECK(r);
	CHECK(clEnqueueFillBuffer(queue, buffer, &pattern, 1, 0, 4096, 0, NULL, NULL));
	mapped = clEnqueueMapBuffer(
		queue, buffer, CL_TRUE, CL_MAP_READ, 0, 4096, 0, NULL, NULL, &r);
	CHECK(r);
	EXPECT(mapped[0] == 7 && mapped[4095] == 7);
	CHECK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
	CHECK(clFinish(queue));
	CHECK(clReleaseMemObject(buffer));
	shared = clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0);
	EXPECT(shared);
	CHECK(clEnqueueSVMMemFill(queue, shared, &pattern, 1, 4096, 0, NULL, NULL));
	CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, shared, 4096, 0, NULL, NULL));
	EXPECT(*(unsigned char *)shared == 7);
	CHECK(clEnqueueSVMUnmap(queue, shared, 0, NULL, NULL));
	CHECK(clEnqueueSVMFree(queue, 1, &shared, NULL, NULL, 0, NULL, NULL));
	CHECK(clFinish(queue));
}

struct native_arguments {
	cl_command_queue queue;
	void *bytes;
	int round;
	_Atomic int *n_seen;
};

/* Takes 2 ms, so that a turn often ends in the middle of it. */
static void CL_CALLBACK launch_from_native(void *userdata)
{
	const struct native_arguments *arguments = userdata;

	usleep(2000);
	launch(arguments->queue, 200, 0, NULL, NULL);
	CHECK(clFlush(arguments->queue));
	EXPECT(*(unsigned char *)arguments->bytes == 7);
	EXPECT(atomic_fetch_add(arguments->n_seen, 1) == arguments->round);
}

static void launches_from_native_kernels(void)
{
	static const unsigned char seven = 7;
	cl_command_queue queue = open_queue(0), other = open_queue(0);
	cl_device_exec_capabilities can = 0;
	_Atomic int n_seen = 0;
	cl_mem buffer;
	cl_int r;

	CHECK(clGetDeviceInfo(
		device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(can), &can, NULL));
	if (!(can & CL_EXEC_NATIVE_KERNEL))
		return;
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &r);
	CHECK(r);
	CHECK(clEnqueueFillBuffer(queue, buffer, &seven, 1, 0, 64, 0, NULL, NULL));
	for (int i = 0; i < 200; i++) {
		struct native_arguments arguments = {other, NULL, i, &n_seen};
		const void *at = &arguments.bytes;

		CHECK(clEnqueueNativeKernel(queue, launch_from_native, &arguments,
			sizeof(arguments), 1, &buffer, &at, 0, NULL, NULL));
		CHECK(clFlush(queue));
	}
	CHECK(clFinish(queue));
	CHECK(clFinish(other));
	EXPECT(n_seen == 200);
	CHECK(clReleaseMemObject(buffer));
}

static cl_uint references_of(cl_command_queue queue)
{
	cl_uint n = 0;

	CHECK(clGetCommandQueueInfo(
		queue, CL_QUEUE_REFERENCE_COUNT, sizeof(n), &n, NULL));
	return n;
}

#define SHOWN_MAX 8

static cl_uint most_frequent(const int *n_shown)
{
	cl_uint most = 0;

	for (cl_uint i = 1; i < SHOWN_MAX; i++)
		most = n_shown[i] > n_shown[most] ? i : most;
	return most;
}

static void note(int *n_shown, cl_uint count)
{
	EXPECT(count < SHOWN_MAX);
	n_shown[count]++;
}

/* The gate's own commands in a queue, such as the marker behind a command of unknown
 * length, do not change the reference counts that a program reads. Counts read at once
 * and at the end equal those without the gate; a count is sometimes read in the middle of
 * a change. */
static void queue_references(void)
{
	static const unsigned char zero;
	int n_at_once[SHOWN_MAX] = {0}, n_later[SHOWN_MAX] = {0};
	cl_mem buffer;
	cl_int r;

	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 1 << 20, NULL, &r);
	CHECK(r);
	for (size_t n = 64; n <= 1 << 20; n *= 2) {
		cl_command_queue queue = open_queue(0);
		cl_event event;

		CHECK(clEnqueueFillBuffer(
			queue, buffer, &zero, 1, 0, n, 0, NULL, &event));
		CHECK(clFinish(queue));
		note(n_at_once, references_of(queue));
		usleep(50000);
		note(n_later, references_of(queue));
		CHECK(clReleaseEvent(event));
	}
	printf("%u %u\n", most_frequent(n_at_once), most_frequent(n_later));
}

static void *find_extension(const char *name)
{
	void *function = clGetExtensionFunctionAddressForPlatform(platform, name);

	EXPECT(function);
	return function;
}

static cl_command_buffer_khr record(cl_command_queue queue, cl_kernel kernel)
{
	clCreateCommandBufferKHR_fn create = find_extension("clCreateCommandBufferKHR");
	clCommandNDRangeKernelKHR_fn command =
		find_extension("clCommandNDRangeKernelKHR");
	clFinalizeCommandBufferKHR_fn finalize =
		find_extension("clFinalizeCommandBufferKHR");
	cl_command_buffer_khr buffer;
	size_t one = 1;
	cl_int r;

	buffer = create(1, &queue, NULL, &r);
	CHECK(r);
	CHECK(command(
		buffer, NULL, NULL, kernel, 1, NULL, &one, &one, 0, NULL, NULL, NULL));
	CHECK(finalize(buffer));
	return buffer;
}

/* The usual form: without queues, the command buffer uses the one that it was recorded
 * for. */
static void submit_without_queue(cl_command_buffer_khr buffer, int n)
{
	clEnqueueCommandBufferKHR_fn enqueue =
		find_extension("clEnqueueCommandBufferKHR");

	for (int i = 0; i < n; i++) {
		cl_event event;

		CHECK(enqueue(0, NULL, buffer, 0, NULL, &event));
		CHECK(clWaitForEvents(1, &event));
		CHECK(clReleaseEvent(event));
	}
}

/* The program may release the queue first; some drivers then refuse the commands. */
static void command_buffers(void)
{
	clRetainCommandBufferKHR_fn retain = find_extension("clRetainCommandBufferKHR");
	clReleaseCommandBufferKHR_fn release =
		find_extension("clReleaseCommandBufferKHR");
	clEnqueueCommandBufferKHR_fn enqueue =
		find_extension("clEnqueueCommandBufferKHR");
	cl_uint us = 200;
	cl_int r;
	cl_kernel kernel = clCreateKernel(program, "spin", &r);

	CHECK(r);
	CHECK(clSetKernelArg(kernel, 0, sizeof(us), &us));
	for (int i = 0; i < 10; i++) {
		cl_command_queue queue = open_queue(0);
		cl_command_buffer_khr buffer = record(queue, kernel);

		CHECK(retain(buffer));
		submit_without_queue(buffer, 20);
		CHECK(release(buffer));
		CHECK(clFinish(queue));
		CHECK(clReleaseCommandQueue(queue));
		r = enqueue(0, NULL, buffer, 0, NULL, NULL);
		EXPECT(r == CL_SUCCESS || r == CL_INVALID_COMMAND_QUEUE);
		usleep(5000);
		CHECK(release(buffer));
	}
	EXPECT(enqueue(0, NULL, NULL, 0, NULL, NULL) == CL_INVALID_COMMAND_BUFFER_KHR);
}

/* No call waits for it, and only the gate or the end of the program flushes it. */
static void last_work_left_alone(void)
{
	cl_command_queue queue = open_queue(0);

	launch(queue, 100, 0, NULL, NULL);
	CHECK(clFinish(queue));
	for (int i = 0; i < 30; i++)
		launch(queue, 100, 0, NULL, NULL);
	CHECK(clFlush(queue));
	usleep(500000);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	/* clang-format off */
	{ "other_queue_flushed_later",       other_queue_flushed_later },
	{ "flushed_at_the_end",              flushed_at_the_end },
	{ "two_queues_flushed_at_the_end",   two_queues_flushed_at_the_end },
	{ "user_event_in_order",             user_event_in_order },
	{ "user_event_beside_work",          user_event_beside_work },
	{ "finished_is_complete",            finished_is_complete },
	{ "user_event_out_of_order",         user_event_out_of_order },
	{ "user_event_across_queues",        user_event_across_queues },
	{ "blocking_read_behind_user_event", blocking_read_behind_user_event },
	{ "finish_behind_user_event",        finish_behind_user_event },
	{ "read_behind_many_held",           read_behind_many_held },
	{ "work_beside_finish",              work_beside_finish },
	{ "launches_from_callbacks",         launches_from_callbacks },
	{ "thread_and_callbacks_in_one_queue", thread_and_callbacks_in_one_queue },
	{ "lock_shared_with_callbacks",      lock_shared_with_callbacks },
	{ "user_event_from_callback",        user_event_from_callback },
	{ "queue_released_early",            queue_released_early },
	{ "user_event_thrown_away",          user_event_thrown_away },
	{ "hundred_user_events",             hundred_user_events },
	{ "failed_user_event",               failed_user_event },
	{ "many_queues",                     many_queues },
	{ "many_threads",                    many_threads },
	{ "maps_and_shared_memory",          maps_and_shared_memory },
	{ "launches_from_native_kernels",    launches_from_native_kernels },
	{ "queue_references",                queue_references },
	{ "command_buffers",                 command_buffers },
	{ "last_work_left_alone",            last_work_left_alone },
	{ "competitor",                       keep_busy },
	/* clang-format on */
};

int main(int argc, char **argv)
{
	const char *wanted = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(wanted, "list") == 0 && cases[i].run != keep_busy)
			puts(cases[i].name);
		if (strcmp(wanted, cases[i].name) != 0)
			continue;
		open_device();
		cases[i].run();
		return 0;
	}
	return strcmp(wanted, "list") != 0;
}
