/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to get more time on the device than the share: patterns of submission.  Each keeps
 * the device as busy as it can from "go" to "done"; none of them looks at what cleave
 * does. */
#include "way.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUEUES = 16, THREADS = 8, PROCESSES = 4, COPY_BYTES = 12 << 20 };

/* Durations of a kernel that does not end within the test, and of kernels that overrun a
 * turn. */
#define ENDLESS_US UINT32_MAX
#define LONG_US 200000
#define LONGEST_US 500000
#define SHORT_US 100
#define LONGER_US (100 * SHORT_US)

static int flood_with(uint32_t us, uint32_t batch, cl_command_queue_properties properties)
{
	struct way_device d;
	cl_command_queue queue;

	way_open(&d);
	queue = way_queue(&d, properties);
	way_submit(&d, queue, us, 0, NULL, NULL);
	clFinish(queue);
	way_begin();
	way_flood(&d, queue, us, batch);
	way_end();
	return 0;
}

static int way_deep(char **arguments)
{
	(void)arguments;
	return flood_with(1000, 64, 0);
}

static int way_out_of_order(char **arguments)
{
	(void)arguments;
	return flood_with(1000, 64, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

static int way_long_kernels(char **arguments)
{
	(void)arguments;
	return flood_with(200000, 4, 0);
}

static int way_sync(char **arguments)
{
	struct way_device d;
	cl_command_queue queue;

	(void)arguments;
	way_open(&d);
	queue = way_queue(&d, 0);
	way_begin();
	while (way_goes_on()) {
		way_submit(&d, queue, 500, 0, NULL, NULL);
		clFinish(queue);
	}
	way_end();
	return 0;
}

/* A new duration for each launch of the same kernel and size, so that what was learned is
 * always wrong. */
static int way_changing_lengths(char **arguments)
{
	static const uint32_t us[] = {20, 20, 20, 30000};
	struct way_device d;
	cl_command_queue queue;

	(void)arguments;
	way_open(&d);
	queue = way_queue(&d, 0);
	way_begin();
	for (unsigned int i = 0; way_goes_on(); i++) {
		way_submit(&d, queue, us[i % 4], 0, NULL, NULL);
		if (i % 16 == 15)
			clFinish(queue);
	}
	way_end();
	return 0;
}

/* A kernel that is short by its arguments until that has been learned, and then long by
 * its arguments. */
static int way_longer_arguments(char **arguments)
{
	struct way_device d;
	cl_command_queue queue;

	(void)arguments;
	way_open(&d);
	queue = way_queue(&d, 0);
	way_begin();
	while (way_goes_on()) {
		for (int i = 0; i < 200; i++)
			way_submit(&d, queue, SHORT_US, 0, NULL, NULL);
		clFinish(queue);
		for (int i = 0; i < 16; i++)
			way_submit(&d, queue, LONGER_US, 0, NULL, NULL);
		clFinish(queue);
	}
	way_end();
	return 0;
}

static int way_endless_kernel(char **arguments)
{
	struct way_device d;
	cl_command_queue queue;

	(void)arguments;
	way_open(&d);
	queue = way_queue(&d, 0);
	way_submit(&d, queue, ENDLESS_US, 0, NULL, NULL);
	clFlush(queue);
	way_begin();
	while (way_goes_on())
		usleep(10000);
	way_end();
	return 0;
}

/* One kernel far longer than a turn; the process ends before it is charged. */
static int way_one_and_gone(char **arguments)
{
	struct way_device d;
	cl_command_queue queue;

	(void)arguments;
	way_open(&d);
	queue = way_queue(&d, 0);
	way_submit(&d, queue, LONGEST_US, 0, NULL, NULL);
	clFinish(queue);
	_exit(0);
}

/* Idle, and then all work at once. */
static int way_bursts(char **arguments)
{
	struct way_device d;
	cl_command_queue queue;

	(void)arguments;
	way_open(&d);
	queue = way_queue(&d, 0);
	way_begin();
	while (way_goes_on()) {
		for (int i = 0; i < 100; i++)
			way_submit(&d, queue, 1000, 0, NULL, NULL);
		clFinish(queue);
		usleep(20000);
	}
	way_end();
	return 0;
}

/* The program never flushes, and never waits for long. */
static int way_no_flush(char **arguments)
{
	struct way_device d;
	cl_command_queue queue;
	cl_event event;

	(void)arguments;
	way_open(&d);
	queue = way_queue(&d, 0);
	way_begin();
	while (way_goes_on()) {
		for (int i = 0; i < 200; i++)
			way_submit(&d, queue, 1000, 0, NULL, i == 100 ? &event : NULL);
		clWaitForEvents(1, &event);
		clReleaseEvent(event);
	}
	way_end();
	return 0;
}

static int way_many_queues(char **arguments)
{
	struct way_device d;
	cl_command_queue queues[QUEUES];

	(void)arguments;
	way_open(&d);
	for (int i = 0; i < QUEUES; i++)
		queues[i] = way_queue(&d, 0);
	way_begin();
	while (way_goes_on()) {
		for (int i = 0; i < QUEUES * 8; i++)
			way_submit(&d, queues[i % QUEUES], 1000, 0, NULL, NULL);
		for (int i = 0; i < QUEUES; i++)
			clFlush(queues[i]);
		for (int i = 0; i < QUEUES; i++)
			clFinish(queues[i]);
	}
	way_end();
	return 0;
}

static void *flood_in_thread(void *userdata)
{
	struct way_device d = *(struct way_device *)userdata;

	d.kernel = NULL;
	way_flood(&d, way_queue(&d, 0), 1000, 8);
	return NULL;
}

static int way_many_threads(char **arguments)
{
	struct way_device d;
	pthread_t threads[THREADS];

	(void)arguments;
	way_open(&d);
	way_begin();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, flood_in_thread, &d);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	way_end();
	return 0;
}

static int way_work_processes(char **arguments)
{
	struct way_device d;
	int ready[2];
	char byte;

	(void)arguments;
	if (pipe(ready) < 0)
		way_die("pipe", 0);
	for (int i = 0; i < PROCESSES; i++) {
		if (fork())
			continue;
		close(ready[1]);
		(void)!read(ready[0], &byte, 1);
		way_open(&d);
		/* Runs as long as the parent, which alone reports the end. */
		for (cl_command_queue queue = way_queue(&d, 0);;) {
			for (int n = 0; n < 16; n++)
				way_submit(&d, queue, 1000, 0, NULL, NULL);
			clFinish(queue);
		}
	}
	close(ready[1]);
	usleep(500000);
	way_begin();
	while (way_goes_on())
		usleep(10000);
	way_say("done\n");
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}

/* Sub-devices, each with a queue. */
static int way_sub_devices(char **arguments)
{
	cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
	cl_device_id parts[64];
	struct way_device d, part[64];
	cl_command_queue queues[64];
	cl_uint n = 0;
	cl_int r;

	(void)arguments;
	way_open(&d);
	r = clCreateSubDevices(d.device, equally, 64, parts, &n);
	if (r || n == 0)
		way_die("clCreateSubDevices", r);
	for (cl_uint i = 0; i < n; i++) {
		part[i] = (struct way_device){.device = parts[i]};
		part[i].context = clCreateContext(NULL, 1, &parts[i], NULL, NULL, &r);
		queues[i] = way_queue(&part[i], 0);
	}
	way_begin();
	while (way_goes_on()) {
		for (cl_uint i = 0; i < n * 16; i++)
			way_submit(&part[i % n], queues[i % n], 1000, 0, NULL, NULL);
		for (cl_uint i = 0; i < n; i++)
			clFlush(queues[i]);
		for (cl_uint i = 0; i < n; i++)
			clFinish(queues[i]);
	}
	way_end();
	return 0;
}

static void CL_CALLBACK spin_for_a_while(void *userdata)
{
	uint64_t until_ns = way_now_ns() + *(uint32_t *)userdata * UINT64_C(1000);

	while (way_now_ns() < until_ns)
		;
}

static void native_for(cl_command_queue queue, uint32_t us)
{
	cl_int r = clEnqueueNativeKernel(
		queue, spin_for_a_while, &us, sizeof(us), 0, NULL, NULL, 0, NULL, NULL);

	if (r)
		way_die("clEnqueueNativeKernel", r);
}

static int flood_with_natives(uint32_t us, int batch)
{
	struct way_device d;
	cl_command_queue queue;

	way_open(&d);
	queue = way_queue(&d, 0);
	way_begin();
	while (way_goes_on()) {
		for (int i = 0; i < batch; i++)
			native_for(queue, us);
		clFinish(queue);
	}
	way_end();
	return 0;
}

/* Native kernels: functions of the program that the device's queue runs. */
static int way_native_kernels(char **arguments)
{
	(void)arguments;
	return flood_with_natives(2000, 32);
}

static int way_native_long(char **arguments)
{
	(void)arguments;
	return flood_with_natives(LONG_US, 2);
}

/* A function of the program that the device runs submits more work. */
struct submitter {
	struct way_device *device;
	cl_command_queue queue;
};

static void CL_CALLBACK submit_more(void *userdata)
{
	const struct submitter *submitter = userdata;

	for (int i = 0; i < 16; i++)
		way_submit(submitter->device, submitter->queue, 1000, 0, NULL, NULL);
	clFlush(submitter->queue);
}

static int way_native_submits(char **arguments)
{
	struct submitter submitter;
	struct way_device d;
	cl_command_queue queue;
	cl_int r;

	(void)arguments;
	way_open(&d);
	queue = way_queue(&d, 0);
	submitter = (struct submitter){.device = &d, .queue = way_queue(&d, 0)};
	way_submit(&d, queue, 1000, 0, NULL, NULL);
	clFinish(queue);
	way_begin();
	while (way_goes_on()) {
		for (int i = 0; i < 4; i++) {
			r = clEnqueueNativeKernel(queue, submit_more, &submitter,
				sizeof(submitter), 0, NULL, NULL, 0, NULL, NULL);
			if (r)
				way_die("clEnqueueNativeKernel", r);
		}
		clFinish(queue);
		clFinish(submitter.queue);
	}
	way_end();
	return 0;
}

static int way_copies(char **arguments)
{
	static const char zero;
	struct way_device d;
	cl_command_queue queue;
	cl_mem from, to;

	(void)arguments;
	way_open(&d);
	queue = way_queue(&d, 0);
	from = clCreateBuffer(d.context, CL_MEM_READ_WRITE, COPY_BYTES, NULL, NULL);
	to = clCreateBuffer(d.context, CL_MEM_READ_WRITE, COPY_BYTES, NULL, NULL);
	clEnqueueFillBuffer(queue, from, &zero, 1, 0, COPY_BYTES, 0, NULL, NULL);
	way_begin();
	while (way_goes_on()) {
		for (int i = 0; i < 32; i++)
			clEnqueueCopyBuffer(
				queue, from, to, 0, 0, COPY_BYTES, 0, NULL, NULL);
		clFinish(queue);
	}
	way_end();
	return 0;
}

static int way_tasks(char **arguments)
{
	struct way_device d;
	cl_command_queue queue;

	(void)arguments;
	way_open(&d);
	queue = way_queue(&d, 0);
	/* A task is one item of a kernel: as long as one item of a whole launch is not.
	 */
	way_submit(&d, queue, 100000, 0, NULL, NULL);
	way_begin();
	while (way_goes_on()) {
		for (int i = 0; i < 32; i++)
			clEnqueueTask(queue, d.kernel, 0, NULL, NULL);
		clFinish(queue);
	}
	way_end();
	return 0;
}

const struct way way_work[] = {
	{"deep", way_deep},
	{"out-of-order", way_out_of_order},
	{"long-kernels", way_long_kernels},
	{"sync", way_sync},
	{"changing-lengths", way_changing_lengths},
	{"longer-arguments", way_longer_arguments},
	{"endless-kernel", way_endless_kernel},
	{"one-and-gone", way_one_and_gone},
	{"bursts", way_bursts},
	{"no-flush", way_no_flush},
	{"many-queues", way_many_queues},
	{"many-threads", way_many_threads},
	{"work-processes", way_work_processes},
	{"sub-devices", way_sub_devices},
	{"native-kernels", way_native_kernels},
	{"native-long", way_native_long},
	{"native-submits", way_native_submits},
	{"copies", way_copies},
	{"tasks", way_tasks},
	{NULL, NULL},
};
