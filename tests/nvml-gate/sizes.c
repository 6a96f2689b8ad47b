/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the device memory that NVML and CUDA report at every step of a program that
 * allocates and frees. It is not linked with either; it looks up every function.
 *
 * usage: nvml-sizes QUOTA-BYTES */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
#define RELEASE_THRESHOLD 4 /* of a pool */

typedef uint64_t dptr;

static void *cuda, *nvml, *device;
static uint64_t quota;
static unsigned n_steps;

static void fail(const char *what, long code)
{
	fprintf(stderr, "step %u: %s: %ld\n", n_steps, what, code);
	exit(1);
}

static void *find(void *library, const char *name)
{
	void *function = dlsym(library, name);

	if (!function)
		fail(name, -1);
	return function;
}

/* Calls a function by name; every argument is a word, and a function ignores surplus
 * words. */
static void call(void *library, const char *name, const uintptr_t words[4])
{
	int (*function)(uintptr_t, uintptr_t, uintptr_t, uintptr_t) = (int (*)(uintptr_t,
		uintptr_t, uintptr_t, uintptr_t))(uintptr_t)find(library, name);
	int code = function(words[0], words[1], words[2], words[3]);

	if (code != 0)
		fail(name, code);
}

#define W(value) (uintptr_t)(value)
#define CALL(library, name, ...) call(library, name, (const uintptr_t[4]){__VA_ARGS__})

/* Returns the used bytes. */
static uint64_t compare(void)
{
	struct {
		uint64_t total, free, used;
	} v1;
	struct {
		uint32_t version;
		uint64_t total, reserved, free, used;
	} v2 = {.version = 40 | 2u << 24};
	size_t left, total;

	n_steps++;
	CALL(nvml, "nvmlDeviceGetMemoryInfo", W(device), W(&v1));
	CALL(cuda, "cuMemGetInfo_v2", W(&left), W(&total));
	if (v1.total != total || v1.free != left || v1.used != total - left)
		fail("the first form differs, used", (long)v1.used);
	if (total != quota)
		fail("not the quota", (long)total);
	if (!dlsym(nvml, "nvmlDeviceGetMemoryInfo_v2"))
		return v1.used;
	CALL(nvml, "nvmlDeviceGetMemoryInfo_v2", W(device), W(&v2));
	if (v2.total != v1.total || v2.free != v1.free || v2.used != v1.used ||
		v2.reserved != 0)
		fail("the second form differs, used", (long)v2.used);
	return v1.used;
}

static void expect(uint64_t used)
{
	if (compare() != used)
		fail("used", (long)compare());
}

static dptr alloc(size_t bytes)
{
	dptr made = 0;

	CALL(cuda, "cuMemAlloc_v2", W(&made), W(bytes));
	return made;
}

static void plain(void)
{
	dptr blocks[5];

	expect(0);
	for (size_t i = 0; i < 5; i++) {
		blocks[i] = alloc((i + 1) * 7 * MIB + 12345);
		compare();
	}
	for (size_t i = 0; i < 5; i++) {
		CALL(cuda, "cuMemFree_v2", W(blocks[i]));
		compare();
	}
	expect(0);
}

/* A pool reserves more than it was asked for, and releases it at a synchronization. */
static void pools(void)
{
	void *stream = NULL;
	uint64_t most = 0;
	dptr made[4];

	CALL(cuda, "cuStreamCreate", W(&stream), W(1));
	for (size_t i = 0; i < 4; i++) {
		CALL(cuda, "cuMemAllocAsync", W(&made[i]), W(20 * MIB), W(stream));
		most = compare();
	}
	if (most < 80 * MIB)
		fail("what the pool has", (long)most);
	for (size_t i = 0; i < 4; i++) {
		CALL(cuda, "cuMemFreeAsync", W(made[i]), W(stream));
		compare();
	}
	CALL(cuda, "cuStreamSynchronize", W(stream));
	expect(0);
	CALL(cuda, "cuStreamDestroy_v2", W(stream));
}

/* The pool keeps its memory until cuMemPoolTrimTo(), which the gate does not hook. */
static void trim(void)
{
	uint64_t keep = UINT64_MAX;
	void *pool = NULL;
	dptr made = 0;

	CALL(cuda, "cuDeviceGetDefaultMemPool", W(&pool), W(0));
	CALL(cuda, "cuMemPoolSetAttribute", W(pool), W(RELEASE_THRESHOLD), W(&keep));
	CALL(cuda, "cuMemAllocAsync", W(&made), W(20 * MIB), W(0));
	CALL(cuda, "cuMemFreeAsync", W(made), W(0));
	CALL(cuda, "cuStreamSynchronize", W(0));
	if (compare() < 20 * MIB)
		fail("what the pool keeps", (long)compare());
	CALL(cuda, "cuMemPoolTrimTo", W(pool), W(0));
	expect(0);
}

static void full(void)
{
	dptr all = alloc(quota);

	expect(quota);
	CALL(cuda, "cuMemFree_v2", W(all));
	expect(0);
}

/* A call that the driver lacks is not found, though the gate's library has the name. */
static void lacking(void)
{
	int has = dlsym(nvml, "nvmlDeviceGetMemoryInfo_v2") != NULL;

	if ((dlsym(RTLD_DEFAULT, "nvmlDeviceGetMemoryInfo_v2") != NULL) != has)
		fail("a look-up everywhere", has);
	if (dlsym(nvml, "nvmlNoSuchThing") || !dlerror())
		fail("what is nowhere", 0);
}

int main(int argc, char **argv)
{
	void *context = NULL;

	if (argc != 2)
		return 64;
	quota = strtoull(argv[1], NULL, 10);
	cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!cuda || !nvml)
		fail(dlerror(), 0);
	CALL(cuda, "cuInit", W(0));
	CALL(cuda, "cuDevicePrimaryCtxRetain", W(&context), W(0));
	CALL(cuda, "cuCtxSetCurrent", W(context));
	CALL(nvml, "nvmlInit_v2", 0);
	CALL(nvml, "nvmlDeviceGetHandleByIndex_v2", W(0), W(&device));
	plain();
	pools();
	trim();
	full();
	lacking();
	CALL(nvml, "nvmlShutdown", 0);
	printf("%u steps\n", n_steps);
	return 0;
}
