/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to get more time on the device than the share: patterns of submission.  Each keeps
 * the device as busy as it can from "go" to "done"; none of them looks at what cleave
 * does. */
#include "way.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

/* Most of these submit to one queue, round after round, and wait for it. */
static struct way_device device;
static cl_command_queue only;

static void submit(uint32_t us, int n)
{
	for (int i = 0; i < n; i++)
		way_submit(&device, only, us, 0, NULL, NULL);
}

static void open_with(cl_command_queue_properties properties)
{
	way_open(&device);
	only = way_queue(&device, properties);
}

static void one_at_a_time(void)
{
	submit(500, 1);
	clFinish(only);
}

static void change_lengths(void)
{
	for (int i = 0; i < 4; i++) {
		submit(20, 3);
		submit(30000, 1);
	}
	clFinish(only);
}

static void lengthen(void)
{
	submit(SHORT_US, 200);
	clFinish(only);
	submit(LONGER_US, 16);
	clFinish(only);
}

static void start_endless(void)
{
	submit(ENDLESS_US, 1);
	clFlush(only);
}

static void sleep_for_a_while(void)
{
	usleep(10000);
}

/* One kernel far longer than a turn; the process ends before it is charged. */
static int way_one_and_gone(char **arguments)
{
	open_with(0);
	submit(LONGEST_US, 1);
	clFinish(only);
	_exit(0);
}

static void burst(void)
{
	submit(1000, 100);
	clFinish(only);
	usleep(20000);
}

static void wait_for_half(void)
{
	cl_event event;

	submit(1000, 100);
	way_submit(&device, only, 1000, 0, NULL, &event);
	submit(1000, 99);
	clWaitForEvents(1, &event);
	clReleaseEvent(event);
}

/* The process stops in the middle of its turn, and stays stopped. */
static int way_stopped(char **arguments)
{
	open_with(0);
	submit(1000, 200);
	clFlush(only);
	way_begin();
	raise(SIGSTOP);
	return 0;
}

static int way_many_queues(char **arguments)
{
	struct way_device d;
	cl_command_queue queues[QUEUES];

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
	int forked[2], warm[2];
	bool is_warm = false;
	char byte;

	if (pipe(forked) < 0 || pipe(warm) < 0)
		way_die("pipe", 0);
	for (int i = 0; i < PROCESSES; i++) {
		if (fork())
			continue;
		close(forked[1]);
		(void)!read(forked[0], &byte, 1);
		way_open(&d);
		/* Runs as long as the parent, which alone reports the end. */
		for (cl_command_queue queue = way_queue(&d, 0);;) {
			for (int n = 0; n < 16; n++)
				way_submit(&d, queue, 1000, 0, NULL, NULL);
			clFinish(queue);
			if (!is_warm) {
				(void)!write(warm[1], "", 1);
				close(warm[1]);
			}
			is_warm = true;
		}
	}
	close(forked[1]);
	close(warm[1]);
	/* The compiler's time is none of the device's. */
	for (int i = 0; i < PROCESSES; i++) {
		if (read(warm[0], &byte, 1) != 1)
			way_die("a child", 0);
	}
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

static void run_natively(
	void(CL_CALLBACK *function)(void *), void *userdata, size_t n_bytes, int n)
{
	for (int i = 0; i < n; i++) {
		cl_int r = clEnqueueNativeKernel(
			only, function, userdata, n_bytes, 0, NULL, NULL, 0, NULL, NULL);

		if (r)
			way_die("clEnqueueNativeKernel", r);
	}
}

static void spin_shortly(void)
{
	uint32_t us = 2000;

	run_natively(spin_for_a_while, &us, sizeof(us), 32);
	clFinish(only);
}

static void spin_for_long(void)
{
	uint32_t us = LONG_US;

	run_natively(spin_for_a_while, &us, sizeof(us), 2);
	clFinish(only);
}

static cl_command_queue beside;

static void CL_CALLBACK submit_more(void *userdata)
{
	for (int i = 0; i < 16; i++)
		way_submit(&device, beside, 1000, 0, NULL, NULL);
	clFlush(beside);
}

static void open_beside(void)
{
	beside = way_queue(&device, 0);
	one_at_a_time();
}

static void submit_natively(void)
{
	uint32_t unused = 0;

	run_natively(submit_more, &unused, sizeof(unused), 4);
	clFinish(only);
	clFinish(beside);
}

static cl_mem from, to;

static void make_buffers(void)
{
	static const char zero;

	from = clCreateBuffer(device.context, CL_MEM_READ_WRITE, COPY_BYTES, NULL, NULL);
	to = clCreateBuffer(device.context, CL_MEM_READ_WRITE, COPY_BYTES, NULL, NULL);
	clEnqueueFillBuffer(only, from, &zero, 1, 0, COPY_BYTES, 0, NULL, NULL);
}

static void copy(void)
{
	for (int i = 0; i < 32; i++)
		clEnqueueCopyBuffer(only, from, to, 0, 0, COPY_BYTES, 0, NULL, NULL);
	clFinish(only);
}

/* A task is one item of a kernel: as long as one item of a whole launch is not. */
static void make_task(void)
{
	submit(100000, 1);
}

static void enqueue_tasks(void)
{
	for (int i = 0; i < 32; i++)
		clEnqueueTask(only, device.kernel, 0, NULL, NULL);
	clFinish(only);
}

/* Takes what is left of this thread's memory; returns the blocks, each of which has the
 * next one. */
static void **take_all_memory(void)
{
	void **blocks = NULL, **block;

	for (size_t n_bytes = 1 << 20; n_bytes >= sizeof(*blocks); n_bytes /= 2) {
		while ((block = malloc(n_bytes))) {
			*block = (void *)blocks;
			blocks = block;
		}
	}
	return blocks;
}

static void give_back(void **blocks)
{
	while (blocks) {
		void **next = *blocks;

		free((void *)blocks);
		blocks = next;
	}
}

/* Has the gate learn that the kernels are short, so that they get no marker at once. */
static void seem_short(void)
{
	submit(SHORT_US, 1000);
	clFinish(only);
}

/* Releases a queue in which a kernel runs, while the driver has no memory for an event
 * behind it.  Whether that is so is tried in another queue, where the event is of no use
 * to the gate.  Says when the driver has refused it in most of ten rounds. */
static void release_without_memory(void)
{
	cl_command_queue queue = way_queue(&device, 0);
	static unsigned n_rounds, n_refused;
	struct rlimit before, none;
	cl_event marker;
	void **blocks;
	cl_int r;

	way_submit(&device, queue, SHORT_US, 0, NULL, NULL);
	way_submit(&device, queue, LONGER_US, 0, NULL, NULL);
	getrlimit(RLIMIT_AS, &before);
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_AS, &none);
	blocks = take_all_memory();
	r = clEnqueueMarkerWithWaitList(only, 0, NULL, &marker);
	clReleaseCommandQueue(queue);
	setrlimit(RLIMIT_AS, &before);
	give_back(blocks);
	if (r == CL_SUCCESS)
		clReleaseEvent(marker);
	n_refused += r != CL_SUCCESS;
	if (++n_rounds == 10 && n_refused > n_rounds / 2)
		way_say("most refused\n");
}

static const struct {
	const char *name;
	void (*prepare)(void), (*round)(void);
} rounds[] = {
	{"sync", NULL, one_at_a_time},
	/* A new duration for each launch of the same kernel and size, so that what was
	 * learned is always wrong. */
	{"changing-lengths", NULL, change_lengths},
	/* A kernel that is short by its arguments until that has been learned, and then
	 * long by its arguments. */
	{"longer-arguments", NULL, lengthen},
	{"endless-kernel", start_endless, sleep_for_a_while},
	/* Idle, and then all work at once. */
	{"bursts", NULL, burst},
	/* The program never flushes, and never waits for long. */
	{"no-flush", NULL, wait_for_half},
	/* Native kernels: functions of the program that the device's queue runs. */
	{"native-kernels", NULL, spin_shortly},
	{"native-long", NULL, spin_for_long},
	/* A function of the program that the device runs submits more work. */
	{"native-submits", open_beside, submit_natively},
	{"copies", make_buffers, copy},
	{"tasks", make_task, enqueue_tasks},
	{"refused-markers", seem_short, release_without_memory},
};

static const struct {
	const char *name;
	uint32_t us, batch;
	cl_command_queue_properties properties;
} floods[] = {
	{"deep", 1000, 64, 0},
	{"out-of-order", 1000, 64, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE},
	{"long-kernels", 200000, 4, 0},
};

void way_run_rounds(const char *name)
{
	for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
		if (strcmp(rounds[i].name, name) != 0)
			continue;
		open_with(0);
		if (rounds[i].prepare)
			rounds[i].prepare();
		way_begin();
		while (way_goes_on())
			rounds[i].round();
		way_end();
	}
}

void way_run_flood(const char *name)
{
	for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
		if (strcmp(floods[i].name, name) != 0)
			continue;
		open_with(floods[i].properties);
		submit(floods[i].us, 1);
		clFinish(only);
		way_begin();
		way_flood(&device, only, floods[i].us, floods[i].batch);
		way_end();
	}
}

const struct way way_work[] = {
	{"one-and-gone", way_one_and_gone},
	{"stopped", way_stopped},
	{"many-queues", way_many_queues},
	{"many-threads", way_many_threads},
	{"work-processes", way_work_processes},
	{"sub-devices", way_sub_devices},
	{NULL, NULL},
};
