/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to get more time on the device by events: work that is held back and then let go
 * at once, work submitted in callbacks, recorded work.  None of it may wait for a turn,
 * so all of it must be charged afterwards. */
#include "way.h"

#include <CL/cl_ext.h>
#include <pthread.h>
#include <unistd.h>

enum { HELD_BACK = 200, CHAINS = 16, RECORDED = 16 };

static int way_user_events(char **arguments)
{
	struct way_device d;
	cl_command_queue queue;
	cl_event gate;

	way_open(&d);
	queue = way_queue(&d, 0);
	way_submit(&d, queue, 1000, 0, NULL, NULL);
	clFinish(queue);
	way_begin();
	while (way_goes_on()) {
		gate = clCreateUserEvent(d.context, NULL);
		for (int i = 0; i < HELD_BACK; i++)
			way_submit(&d, queue, 1000, i == 0, i == 0 ? &gate : NULL, NULL);
		clFlush(queue);
		clSetUserEventStatus(gate, CL_COMPLETE);
		clFinish(queue);
		clReleaseEvent(gate);
	}
	way_end();
	return 0;
}

/* The end of each kernel starts the next one. */
struct chain {
	struct way_device d; /* a kernel object of its own */
	cl_command_queue queue;
	pthread_mutex_t *lock; /* may be NULL */
};

static void start_next(struct chain *chain);

static void CL_CALLBACK go_on(cl_event event, cl_int status, void *userdata)
{
	clReleaseEvent(event);
	if (way_goes_on())
		start_next(userdata);
}

static void start_next(struct chain *chain)
{
	cl_event event;

	if (chain->lock)
		pthread_mutex_lock(chain->lock);
	way_submit(&chain->d, chain->queue, 1000, 0, NULL, &event);
	if (chain->lock)
		pthread_mutex_unlock(chain->lock);
	clSetEventCallback(event, CL_COMPLETE, go_on, chain);
	clFlush(chain->queue);
}

static int run_chains(pthread_mutex_t *lock)
{
	static struct chain chains[CHAINS];
	struct way_device d;
	cl_command_queue queue;

	way_open(&d);
	queue = way_queue(&d, 0);
	for (int i = 0; i < CHAINS; i++) {
		chains[i] = (struct chain){.d = d, .queue = queue, .lock = lock};
		way_submit(&chains[i].d, queue, 100, 0, NULL, NULL);
	}
	clFinish(queue);
	way_begin();
	for (int i = 0; i < CHAINS; i++)
		start_next(&chains[i]);
	while (way_goes_on())
		usleep(10000);
	way_end();
	return 0;
}

static int way_callbacks(char **arguments)
{
	return run_chains(NULL);
}

/* A lock around each submission, as libraries have: a callback waits for the lock while
 * the lock's holder waits for a turn. */
static int way_callbacks_locked(char **arguments)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	return run_chains(&lock);
}

static void *find(struct way_device *d, const char *name)
{
	void *function = clGetExtensionFunctionAddressForPlatform(d->platform, name);

	if (!function)
		way_die(name, 0);
	return function;
}

static cl_command_buffer_khr record(struct way_device *d, cl_command_queue queue)
{
	clCreateCommandBufferKHR_fn create = find(d, "clCreateCommandBufferKHR");
	clCommandNDRangeKernelKHR_fn command = find(d, "clCommandNDRangeKernelKHR");
	clFinalizeCommandBufferKHR_fn finalize = find(d, "clFinalizeCommandBufferKHR");
	size_t n_global = 1024, n_local = 4;
	cl_command_buffer_khr buffer;
	cl_int r;

	buffer = create(1, &queue, NULL, &r);
	for (int i = 0; i < RECORDED && !r; i++)
		r = command(buffer, NULL, NULL, d->kernel, 1, NULL, &n_global, &n_local,
			0, NULL, NULL, NULL);
	if (!r)
		r = finalize(buffer);
	if (r)
		way_die("recording a command buffer", r);
	return buffer;
}

static int way_command_buffers(char **arguments)
{
	struct way_device d;
	cl_command_queue queue;
	clEnqueueCommandBufferKHR_fn enqueue;
	cl_command_buffer_khr buffer;
	cl_uint n_queues = 0;
	cl_int r;

	way_open(&d);
	queue = way_queue(&d, 0);
	enqueue = find(&d, "clEnqueueCommandBufferKHR");
	way_submit(&d, queue, 1000, 0, NULL, NULL);
	clFinish(queue);
	buffer = record(&d, queue);
	way_begin();
	while (way_goes_on()) {
		/* A command buffer must not be submitted again before it is complete. */
		n_queues = 1 - n_queues;
		r = enqueue(n_queues, n_queues ? &queue : NULL, buffer, 0, NULL, NULL);
		if (r)
			way_die("clEnqueueCommandBufferKHR", r);
		clFinish(queue);
	}
	way_end();
	return 0;
}

const struct way way_work_events[] = {
	{"user-events", way_user_events},
	{"callbacks", way_callbacks},
	{"callbacks-locked", way_callbacks_locked},
	{"command-buffers", way_command_buffers},
	{NULL, NULL},
};
