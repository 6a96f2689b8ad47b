/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant of the crash suite: a deep queue of kernels whose results it checks, and a
 * second thread that allocates and frees. It keeps its own account of its allocations
 * (tenant.h) and shares no code with cleave.
 *
 * usage: tenant ACCOUNT [kernel=US] [depth=N] [max=BYTES] [quota=BYTES] [seed=N]
 *                       [children=N] [submits=0|1] */
#include "tenant.h"

#include <CL/cl.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_WORDS 4096u
#define BLOCK_BYTES (BLOCK_WORDS * sizeof(cl_uint))
#define MAX_DEPTH 64
#define MAX_LIVE 24
#define VERIFY_EVERY 8
#define PAUSE_US 500

struct account *account;

static struct options options = {
	.kernel_us = 1000,
	.depth = 8,
	.max_bytes = 1 << 20,
	.seed = 1,
	.submits = 1,
};

static cl_context context;
static cl_device_id device;

/* The strict double runs a kernel of this name for as many microseconds as its first
 * argument says; a real device counts. */
static const char source[] =
	"__kernel void spin(uint us, __global uint *out)\n"
	"{\n"
	"	uint x = us;\n"
	"	for (uint i = 0; i < us * 300u; i++) x = x * 1664525u + 1013904223u;\n"
	"	out[get_global_id(0)] = x;\n"
	"}\n";

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void fail(const char *doing, int code)
{
	fprintf(stderr, "tenant %d: %s: %d (%s)\n", (int)getpid(), doing, code,
		strerror(errno));
	if (account) {
		fprintf(stderr, "tenant %d: held %llu, asked for %llu\n", (int)getpid(),
			(unsigned long long)atomic_load(&account->held_bytes),
			(unsigned long long)atomic_load(&account->pending_bytes));
		atomic_store(&account->error, (uint64_t)(int64_t)code);
		atomic_store(&account->state, STATE_FAILED);
	}
	_exit(3);
}

void account_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		fail(path, 0);
	account = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (account == MAP_FAILED) {
		account = NULL;
		fail(path, 0);
	}
	close(fd);
	atomic_store(&account->held_bytes, 0);
	atomic_store(&account->stage, STAGE_NONE);
	atomic_store(&account->submitted, 0);
	atomic_store(&account->completed, 0);
	atomic_store(&account->last_completion_ns, 0);
	atomic_store(&account->frozen, 0);
	atomic_store(&account->pid, (uint64_t)getpid());
}

static void pause_us(uint64_t us)
{
	struct timespec pause = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};

	nanosleep(&pause, NULL);
}

static void check(const char *doing, cl_int code)
{
	if (code != CL_SUCCESS)
		fail(doing, code);
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* The charge of a buffer: docs/isolation.md has the overhead of small ones. */
static size_t charged_bytes(size_t n_bytes)
{
	if (n_bytes >= 65536)
		return n_bytes;
	return n_bytes + 1088 < 65536 ? n_bytes + 1088 : 65536;
}

static cl_mem allocate(size_t n_bytes, cl_int *ret_code)
{
	cl_mem buffer;

	atomic_store(&account->pending_bytes, charged_bytes(n_bytes));
	atomic_store(&account->stage, STAGE_ALLOCATING);
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, n_bytes, NULL, ret_code);
	if (buffer)
		atomic_fetch_add(&account->held_bytes, charged_bytes(n_bytes));
	atomic_store(&account->stage, STAGE_NONE);
	atomic_fetch_add(&account->n_allocations, 1);
	return buffer;
}

static void free_buffer(cl_mem buffer, size_t n_bytes)
{
	atomic_store(&account->stage, STAGE_FREEING);
	check("clReleaseMemObject", clReleaseMemObject(buffer));
	atomic_fetch_sub(&account->held_bytes, charged_bytes(n_bytes));
	atomic_store(&account->stage, STAGE_NONE);
}

static void try_too_much(void)
{
	cl_int code = CL_SUCCESS;
	cl_mem buffer = allocate(options.quota_bytes, &code);

	if (buffer)
		fail("more than the quota was given", 0);
	if (code != CL_MEM_OBJECT_ALLOCATION_FAILURE)
		fail("beyond the quota", code);
	atomic_fetch_add(&account->n_refused, 1);
}

static void *run_allocations(void *userdata)
{
	struct {
		cl_mem buffer;
		size_t n_bytes;
	} live[MAX_LIVE] = {{NULL, 0}};
	uint64_t random = options.seed * 0x9e3779b97f4a7c15u + 1;

	for (;;) {
		size_t at = draw(&random) % MAX_LIVE;
		cl_int code = CL_SUCCESS;

		if (atomic_load(&account->freeze)) {
			atomic_store(&account->frozen, 1);
			pause_us(PAUSE_US);
			continue;
		}
		atomic_store(&account->frozen, 0);
		if (live[at].buffer) {
			free_buffer(live[at].buffer, live[at].n_bytes);
			live[at].buffer = NULL;
		} else if (options.quota_bytes && draw(&random) % 16 == 0 &&
			   atomic_load(&account->held_bytes) > 0 &&
			   atomic_load(&account->state) == STATE_RUNNING) {
			try_too_much();
		} else {
			live[at].n_bytes = 1 + draw(&random) % options.max_bytes;
			live[at].buffer = allocate(live[at].n_bytes, &code);
			check("clCreateBuffer", code);
		}
		pause_us(draw(&random) % 1000);
	}
	return NULL;
}

struct queue {
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem out, pattern;
	cl_event events[MAX_DEPTH];
	cl_event verified_by;
	cl_uint result[BLOCK_WORDS];
	cl_uint expected;
	uint64_t n;
};

static cl_mem new_block(void)
{
	cl_int code;
	cl_mem buffer =
		clCreateBuffer(context, CL_MEM_READ_WRITE, BLOCK_BYTES, NULL, &code);

	check("clCreateBuffer", code);
	atomic_fetch_add(&account->held_bytes, charged_bytes(BLOCK_BYTES));
	return buffer;
}

static void open_queue(struct queue *q)
{
	const char *text = source;
	cl_uint us = (cl_uint)options.kernel_us;
	cl_program program;
	cl_int code;

	q->queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
	check("clCreateCommandQueueWithProperties", code);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
	check("clCreateProgramWithSource", code);
	check("clBuildProgram", clBuildProgram(program, 1, &device, NULL, NULL, NULL));
	q->kernel = clCreateKernel(program, "spin", &code);
	check("clCreateKernel", code);
	q->out = new_block();
	q->pattern = new_block();
	check("clSetKernelArg", clSetKernelArg(q->kernel, 0, sizeof(us), &us));
	check("clSetKernelArg", clSetKernelArg(q->kernel, 1, sizeof(q->out), &q->out));
}

static void note_completion(void)
{
	uint64_t now = now_ns(), last = atomic_load(&account->last_completion_ns);

	if (last && now - last > atomic_load(&account->max_stall_ns))
		atomic_store(&account->max_stall_ns, now - last);
	atomic_store(&account->last_completion_ns, now);
	atomic_fetch_add(&account->completed, 1);
}

static void wait_for(cl_event *event)
{
	cl_int status = 0;

	if (!*event)
		return;
	check("clWaitForEvents", clWaitForEvents(1, event));
	check("clGetEventInfo", clGetEventInfo(*event, CL_EVENT_COMMAND_EXECUTION_STATUS,
					sizeof(status), &status, NULL));
	check("a command", status);
	clReleaseEvent(*event);
	*event = NULL;
	note_completion();
}

/* Filled on the device, copied there and read back. */
static void submit_verification(struct queue *q)
{
	q->expected = (cl_uint)(q->n * 2654435761u);
	memset(q->result, 0, sizeof(q->result));
	check("clEnqueueFillBuffer",
		clEnqueueFillBuffer(q->queue, q->pattern, &q->expected,
			sizeof(q->expected), 0, BLOCK_BYTES, 0, NULL, NULL));
	check("clEnqueueCopyBuffer", clEnqueueCopyBuffer(q->queue, q->pattern, q->out, 0,
					     0, BLOCK_BYTES, 0, NULL, NULL));
	check("clEnqueueReadBuffer",
		clEnqueueReadBuffer(q->queue, q->out, CL_FALSE, 0, BLOCK_BYTES, q->result,
			0, NULL, &q->verified_by));
	atomic_fetch_add(&account->submitted, 1);
}

static void verify(struct queue *q)
{
	bool right = true;

	if (!q->verified_by)
		return;
	wait_for(&q->verified_by);
	for (size_t i = 0; i < BLOCK_WORDS; i++)
		right &= q->result[i] == q->expected;
	atomic_fetch_add(right ? &account->verified : &account->wrong, 1);
}

static void stand_still(struct queue *q)
{
	for (uint64_t i = 0; i < options.depth; i++)
		wait_for(&q->events[(q->n + i) % options.depth]);
	verify(q);
	while (atomic_load(&account->hold)) {
		atomic_store(&account->held, 1);
		atomic_store(&account->last_completion_ns, 0);
		pause_us(PAUSE_US);
	}
	atomic_store(&account->held, 0);
}

static void *run_queue(void *userdata)
{
	static struct queue q;

	open_queue(&q);
	atomic_store(&account->state, STATE_RUNNING);
	for (;; q.n++) {
		cl_event *event = &q.events[q.n % options.depth];
		size_t one = 1;

		if (atomic_load(&account->hold))
			stand_still(&q);
		wait_for(event);
		check("clEnqueueNDRangeKernel",
			clEnqueueNDRangeKernel(
				q.queue, q.kernel, 1, NULL, &one, NULL, 0, NULL, event));
		atomic_fetch_add(&account->submitted, 1);
		if (q.n % VERIFY_EVERY == VERIFY_EVERY - 1) {
			verify(&q);
			submit_verification(&q);
		}
		check("clFlush", clFlush(q.queue));
	}
	return NULL;
}

static void start(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) != 0)
		fail("pthread_create", 0);
}

static void open_device(void)
{
	cl_platform_id platform;
	cl_int code;

	check("clGetPlatformIDs", clGetPlatformIDs(1, &platform, NULL));
	check("clGetDeviceIDs",
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	check("clCreateContext", code);
}

static const struct {
	const char *name;
	uint64_t *value;
} names[] = {
	{"kernel", &options.kernel_us},
	{"depth", &options.depth},
	{"max", &options.max_bytes},
	{"quota", &options.quota_bytes},
	{"seed", &options.seed},
	{"children", &options.n_children},
	{"submits", &options.submits},
};

static void parse(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		char *equals = strchr(argv[i], '=');
		bool known = false;

		for (size_t n = 0; equals && n < sizeof(names) / sizeof(names[0]); n++) {
			if (strncmp(argv[i], names[n].name, (size_t)(equals - argv[i])) !=
					0 ||
				names[n].name[equals - argv[i]])
				continue;
			*names[n].value = strtoull(equals + 1, NULL, 10);
			known = true;
		}
		if (!known) {
			fprintf(stderr, "tenant: %s is not NAME=NUMBER\n", argv[i]);
			exit(64);
		}
	}
	if (options.depth == 0 || options.depth > MAX_DEPTH)
		options.depth = 1;
}

/* Before the first call of OpenCL: a runtime's threads do not survive a fork. */
static void fork_children(const char *path)
{
	static char own[4096];

	for (uint64_t i = 0; i < options.n_children; i++) {
		if (fork() != 0)
			continue;
		options.n_children = 0;
		options.seed += i + 1;
		snprintf(own, sizeof(own), "%s.%d", path, (int)i);
		options.account_path = own;
	}
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: tenant ACCOUNT [NAME=NUMBER...]\n");
		return 64;
	}
	parse(argc, argv);
	options.self = argv[0];
	options.account_path = argv[1];
	fork_children(argv[1]);
	account_open(options.account_path);
	open_device();
	if (options.submits)
		start(run_queue);
	else
		atomic_store(&account->state, STATE_RUNNING);
	start(run_allocations);
	for (;;) {
		enum act act = (enum act)atomic_load(&account->act);

		if (act != ACT_NONE)
			acts_do(&options, act);
		pause_us(2000);
	}
}
