/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/gate/life.c needs of HIP, and what is HIP's alone: captures, callbacks. */
#include "../gate/life.h"
#include "tenant.h"

#include <sys/wait.h>
#include <unistd.h>

int hipLaunchHostFunc(handle stream, void (*function)(void *), void *userdata);
int hipStreamAddCallback(handle stream, void (*function)(handle, int, void *),
	void *userdata, unsigned flags);
int hipStreamWaitValue32(
	handle stream, void *word, uint32_t value, unsigned flags, uint32_t mask);
int hipHostMalloc(void **p, size_t bytes, unsigned flags);

static handle function;

static void launch(handle stream, uint64_t ns)
{
	void *parameters[] = {&ns, NULL};

	OK(hipModuleLaunchKernel(
		function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

void life_begin(void)
{
	OK(hipInit(0));
}

void life_load(void)
{
	function = load_spin();
}

void life_launch(void *stream, int n)
{
	for (int i = 0; i < n; i++)
		launch(stream, 50000);
	OK(hipStreamSynchronize(stream));
}

void *life_make_stream(void)
{
	handle stream;

	OK(hipStreamCreateWithFlags(&stream, 1));
	return stream;
}

void life_destroy_stream(void *stream)
{
	OK(hipStreamDestroy(stream));
}

int life_allocate(size_t bytes, uint64_t *ret_address)
{
	void *p = NULL;
	int r = hipMalloc(&p, bytes);

	*ret_address = (uintptr_t)p;
	return r;
}

void life_free(uint64_t address)
{
	OK(hipFree((void *)(uintptr_t)address));
}

size_t life_free_bytes(void)
{
	size_t left, total;

	OK(hipMemGetInfo(&left, &total));
	return left;
}

/* A child forked after initialization does not compute. */
int life_is_right_in_child(void)
{
	return 1;
}

/* Each child that initializes HIP itself is one more process of the lease, with the same
 * quota. */
static int forks_first(void)
{
	int status;
	uint64_t a;
	pid_t child = fork();

	if (child == 0) {
		life_load();
		life_launch(NULL, 100);
		OK(life_allocate(600 * MIB, &a));
		_exit(life_allocate(600 * MIB, &a) == OUT_OF_MEMORY ? 0 : 1);
	}
	waitpid(child, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return life_forks();
}

/* Calls made during a capture of a stream that synchronizes with the legacy stream: the
 * gate's own calls neither invalidate the capture nor wait for it. */
static int captures(void)
{
	handle streams[3], graph, exec;

	life_load();
	OK(hipStreamCreateWithFlags(&streams[0], 0));
	OK(hipStreamCreateWithFlags(&streams[1], 1));
	OK(hipStreamCreateWithFlags(&streams[2], 1));
	for (int i = 0; i < 50; i++) {
		life_launch(NULL, 1);
		launch(NULL, 100000);
		OK(hipStreamBeginCapture(streams[i % 2], i % 3));
		for (int j = 0; j < 20; j++) {
			launch(streams[i % 2], 10000);
			launch(streams[2], 100000);
		}
		OK(hipStreamEndCapture(streams[i % 2], &graph));
		OK(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
		OK(hipGraphLaunch(exec, streams[2]));
	}
	OK(hipDeviceSynchronize());
	return 0;
}

static _Atomic int n_called;

static void called(handle stream, int status, void *userdata)
{
	handle other = userdata;

	launch(other, 10000);
	n_called++;
}

/* HIP calls callbacks on a thread of its own; a launch from one was admitted. */
static int callbacks(void)
{
	handle streams[2];

	life_load();
	OK(hipStreamCreateWithFlags(&streams[0], 1));
	OK(hipStreamCreateWithFlags(&streams[1], 1));
	for (int i = 0; i < 100; i++) {
		launch(streams[0], 20000);
		OK(hipStreamAddCallback(streams[0], called, streams[1], 0));
	}
	OK(hipStreamSynchronize(streams[0]));
	OK(hipStreamSynchronize(streams[1]));
	CHECK(n_called == 100);
	return 0;
}

/* A stream is blocked until another stream has done its work. */
static int blocked_stream(void)
{
	volatile uint32_t *word;
	handle streams[2];
	void *p;

	life_load();
	OK(hipHostMalloc(&p, 4096, 0));
	word = p;
	OK(hipStreamCreateWithFlags(&streams[0], 1));
	OK(hipStreamCreateWithFlags(&streams[1], 1));
	*word = 0;
	for (uint32_t i = 1; i <= 20; i++) {
		OK(hipStreamWaitValue32(streams[0], p, i, 0, UINT32_MAX));
		for (int j = 0; j < 10; j++)
			launch(streams[0], 1000000);
		life_launch(streams[1], 100);
		*word = i;
		OK(hipStreamSynchronize(streams[0]));
	}
	return 0;
}

const struct life_case life_cases[] = {
	{"forks-first", forks_first},
	{"captures", captures},
	{"callbacks", callbacks},
	{"blocked-stream", blocked_stream},
	{NULL, NULL},
};
