/* SPDX-License-Identifier: Apache-2.0 */
/* Calls during which another thread does something with the same queue, event or lock.
 * Each case ends without the gate, where copies of memory that is not pinned return when
 * they are complete too.
 *
 * usage: calls list | competitor | CASE */
#include "program.h"

#include <CL/cl_ext.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

#define N_FORKS 200
#define N_THREADS 3

static cl_command_queue queue;
static _Atomic int may_end;

/* From here on the queue has had a held command. */
static void begin(void)
{
	cl_event gate;

	open_device();
	queue = open_queue(0);
	gate = user_event();
	launch(queue, 100, 1, &gate, NULL);
	CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
	CHECK(clFinish(queue));
	CHECK(clReleaseEvent(gate));
}

static void await(_Atomic int *word)
{
	while (!atomic_load(word))
		usleep(100);
}

/* Copies, in a call that does not return before the other thread has done the rest. */
static void copy_beside(void *(*rest)(void *), cl_event before)
{
	char bytes[64] = "";
	pthread_t thread;
	cl_int r;
	cl_mem buffer =
		clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(bytes), NULL, &r);

	CHECK(r);
	EXPECT(pthread_create(&thread, NULL, rest, before) == 0);
	CHECK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof(bytes), bytes,
		before != NULL, before ? &before : NULL, NULL));
	EXPECT(pthread_join(thread, NULL) == 0);
	CHECK(clFinish(queue));
	CHECK(clReleaseMemObject(buffer));
}

static void submit_many(void)
{
	/* The other thread is in its call by then, as a rule. */
	usleep(50000);
	for (int i = 0; i < 20; i++)
		launch(queue, 100, 0, NULL, NULL);
}

static void *submit_and_set(void *event)
{
	submit_many();
	CHECK(clSetUserEventStatus(event, CL_COMPLETE));
	return NULL;
}

static void submitted_beside_held_copy(void)
{
	cl_event gate;

	begin();
	gate = user_event();
	copy_beside(submit_and_set, gate);
	CHECK(clReleaseEvent(gate));
}

static void CL_CALLBACK wait_in_kernel(void *userdata)
{
	(void)userdata;
	await(&may_end);
}

static void *submit_and_let_end(void *userdata)
{
	(void)userdata;
	submit_many();
	atomic_store(&may_end, 1);
	return NULL;
}

static void submitted_beside_copy(void)
{
	char none = 0;

	begin();
	CHECK(clEnqueueNativeKernel(queue, wait_in_kernel, &none, sizeof(none), 0, NULL,
		NULL, 0, NULL, NULL));
	CHECK(clFlush(queue));
	copy_beside(submit_and_let_end, NULL);
}

static void CL_CALLBACK release(cl_event event, cl_int status, void *userdata)
{
	(void)status;
	(void)userdata;
	CHECK(clReleaseEvent(event));
}

/* The event's callback, in which the driver is still setting it, drops the last
 * reference. */
static void released_while_it_is_set(void)
{
	begin();
	for (int i = 0; i < 50; i++) {
		cl_event gate = user_event();

		launch(queue, 100, 1, &gate, NULL);
		CHECK(clSetEventCallback(gate, CL_COMPLETE, release, NULL));
		CHECK(clFlush(queue));
		CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
		CHECK(clFinish(queue));
	}
}

static _Atomic int is_over;

static void *come_and_go(void *userdata)
{
	(void)userdata;
	while (!atomic_load(&is_over))
		CHECK(clReleaseEvent(user_event()));
	return NULL;
}

/* The child has none of the threads that use the gate at that moment, and may end what it
 * has inherited. */
static void fork_once(cl_event inherited)
{
	int status;
	pid_t child = fork();

	EXPECT(child >= 0);
	if (child == 0) {
		alarm(10);
		clSetUserEventStatus(inherited, CL_COMPLETE);
		_exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void forked_beside_threads(void)
{
	cl_event inherited;
	pthread_t threads[N_THREADS];

	begin();
	inherited = user_event();
	for (int i = 0; i < N_THREADS; i++)
		EXPECT(pthread_create(&threads[i], NULL, come_and_go, NULL) == 0);
	for (int i = 0; i < N_FORKS; i++)
		fork_once(inherited);
	atomic_store(&is_over, 1);
	for (int i = 0; i < N_THREADS; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
	CHECK(clReleaseEvent(inherited));
}

static void *find_extension(const char *name)
{
	void *function = clGetExtensionFunctionAddressForPlatform(platform, name);

	if (!function)
		fprintf(stderr, "%s is not found\n", name);
	EXPECT(function);
	return function;
}

/* Programs with unified memory call these without a look at what they have found. */
static void unified_memory(void)
{
	clSharedMemAllocINTEL_fn allocate;
	clMemFreeINTEL_fn release_memory;
	clGetMemAllocInfoINTEL_fn query;
	clEnqueueMemAdviseINTEL_fn advise;
	cl_unified_shared_memory_type_intel type;
	cl_event before, advised;
	void *memory;
	cl_int r;

	begin();
	allocate = find_extension("clSharedMemAllocINTEL");
	release_memory = find_extension("clMemFreeINTEL");
	query = find_extension("clGetMemAllocInfoINTEL");
	advise = find_extension("clEnqueueMemAdviseINTEL");
	memory = allocate(context, device, NULL, 4096, 0, &r);
	CHECK(r);
	CHECK(query(context, memory, CL_MEM_ALLOC_TYPE_INTEL, sizeof(type), &type, NULL));
	EXPECT(type == CL_MEM_TYPE_SHARED_INTEL);
	EXPECT(advise(queue, NULL, 4096, 0, 0, NULL, NULL) == CL_INVALID_VALUE);
	launch(queue, 100, 0, NULL, &before);
	CHECK(advise(queue, memory, 4096, 0, 1, &before, &advised));
	CHECK(clWaitForEvents(1, &advised));
	CHECK(clReleaseEvent(advised));
	CHECK(clReleaseEvent(before));
	CHECK(release_memory(context, memory));
}

/* The headers may lack it. */
typedef cl_command_buffer_khr(CL_API_CALL *remap_fn)(cl_command_buffer_khr buffer,
	cl_bool automatic, cl_uint n_queues, const cl_command_queue *queues,
	cl_uint n_handles, const cl_mutable_command_khr *handles,
	cl_mutable_command_khr *ret_handles, cl_int *ret_error);

/* A copy of a command buffer for another queue is submitted to that queue where the
 * program names none. */
static void remapped_command_buffer(void)
{
	clCreateCommandBufferKHR_fn create;
	clFinalizeCommandBufferKHR_fn finalize;
	clEnqueueCommandBufferKHR_fn enqueue;
	clReleaseCommandBufferKHR_fn drop;
	remap_fn remap;
	cl_command_buffer_khr buffer, copy;
	cl_command_queue other;
	cl_int r;

	begin();
	create = find_extension("clCreateCommandBufferKHR");
	finalize = find_extension("clFinalizeCommandBufferKHR");
	enqueue = find_extension("clEnqueueCommandBufferKHR");
	drop = find_extension("clReleaseCommandBufferKHR");
	remap = find_extension("clRemapCommandBufferKHR");
	other = open_queue(0);
	buffer = create(1, &queue, NULL, &r);
	CHECK(r);
	EXPECT(!remap(buffer, CL_FALSE, 1, &other, 0, NULL, NULL, &r));
	EXPECT(r == CL_INVALID_OPERATION);
	EXPECT(!remap(buffer, CL_FALSE, 0, NULL, 0, NULL, NULL, NULL));
	CHECK(finalize(buffer));
	copy = remap(buffer, CL_FALSE, 1, &other, 0, NULL, NULL, &r);
	CHECK(r);
	CHECK(drop(buffer));
	for (int i = 0; i < 10; i++) {
		CHECK(enqueue(0, NULL, copy, 0, NULL, NULL));
		CHECK(clFinish(other));
	}
	CHECK(enqueue(1, &queue, copy, 0, NULL, NULL));
	CHECK(clFinish(queue));
	CHECK(clReleaseCommandQueue(other));
	CHECK(drop(copy));
	EXPECT(enqueue(0, NULL, copy, 0, NULL, NULL) == CL_INVALID_COMMAND_BUFFER_KHR);
}

static void compete(void)
{
	open_device();
	keep_busy();
}

static const struct named_case cases[] = {
	{"submitted_beside_held_copy", submitted_beside_held_copy},
	{"submitted_beside_copy", submitted_beside_copy},
	{"released_while_it_is_set", released_while_it_is_set},
	{"forked_beside_threads", forked_beside_threads},
	{"unified_memory", unified_memory},
	{"remapped_command_buffer", remapped_command_buffer},
	{"competitor", compete},
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
