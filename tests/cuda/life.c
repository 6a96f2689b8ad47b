/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/gate/life.c needs of CUDA, and what is CUDA's alone. */
#include "../gate/life.h"
#include "tenant.h"

#define NOT_INITIALIZED 3
#define NO_CONTEXT 201

static handle function;

void life_begin(void)
{
	handle context;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
}

void life_load(void)
{
	life_begin();
	function = load_spin();
}

void life_launch(void *stream, int n)
{
	uint64_t ns = 50000;
	void *parameters[] = {&ns};

	for (int i = 0; i < n; i++)
		OK(cuLaunchKernel(
			function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
	OK(cuStreamSynchronize(stream));
}

void *life_make_stream(void)
{
	handle stream;

	OK(cuStreamCreate(&stream, 1));
	return stream;
}

void life_destroy_stream(void *stream)
{
	(void)stream; /* it ends with the context */
}

int life_allocate(size_t bytes, uint64_t *ret_address)
{
	return cuMemAlloc_v2(ret_address, bytes);
}

void life_free(uint64_t address)
{
	OK(cuMemFree_v2(address));
}

size_t life_free_bytes(void)
{
	size_t left, total;

	OK(cuMemGetInfo_v2(&left, &total));
	return left;
}

int life_is_right_in_child(void)
{
	dptr a;

	return cuMemAlloc_v2(&a, MIB) == NOT_INITIALIZED;
}

static void *initialize(void *userdata)
{
	OK(cuInit(0));
	return NULL;
}

static int race(void)
{
	life_run_threads(initialize);
	return life_threads();
}

/* A program that calls in the wrong order gets the driver's own error from every call. */
static int unready(void)
{
	uint64_t ns = 1;
	void *parameters[] = {&ns};
	size_t left, total;
	dptr a;

	CHECK(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL) ==
		NOT_INITIALIZED);
	CHECK(cuMemAlloc_v2(&a, MIB) == NOT_INITIALIZED);
	CHECK(cuMemGetInfo_v2(&left, &total) == NOT_INITIALIZED);
	CHECK(cuStreamSynchronize(NULL) == NOT_INITIALIZED);
	OK(cuInit(0));
	CHECK(cuMemAlloc_v2(&a, MIB) == NO_CONTEXT);
	CHECK(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL) != 0);
	return 0;
}

const struct life_case life_cases[] = {
	{"race", race},
	{"unready", unready},
	{NULL, NULL},
};
