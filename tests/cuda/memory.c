/* SPDX-License-Identifier: Apache-2.0 */
/* What a program with a quota of 1 GiB can allocate, and what it sees.
 *
 * usage: cuda-memory CASE [stay] */
#include "memory.h"

#include <string.h>

int cuDevicePrimaryCtxReset_v2(int device);
int cuCtxGetLimit(size_t *value, int limit);
int cuImportExternalMemory(handle *memory, const void *description);

size_t free_bytes(void)
{
	size_t left, total;

	OK(cuMemGetInfo_v2(&left, &total));
	CHECK(total == QUOTA);
	return left;
}

static void plain(void)
{
	dptr a, b;

	OK(cuMemAlloc_v2(&a, 600 * MIB));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	CHECK(cuMemAlloc_v2(&b, 500 * MIB) == OUT_OF_MEMORY);
	OK(cuMemAlloc_v2(&b, 424 * MIB));
	CHECK(free_bytes() == 0);
	CHECK(cuMemAlloc_v2(&b, 1) == OUT_OF_MEMORY);
	OK(cuMemFree_v2(a));
	CHECK(free_bytes() == 600 * MIB);
	CHECK(cuMemFree_v2(a) != 0);
	CHECK(free_bytes() == 600 * MIB);
}

/* As much as the GPU takes for it, be it more than was asked for. */
static void odd_sizes(void)
{
	static const struct {
		size_t asked, taken;
	} sizes[] = {
		{1, 512},
		{513, 1024},
		{512 * 1024, 512 * 1024},
		{512 * 1024 + 1, MIB},
		{MIB, MIB},
		{MIB + 1, 2 * MIB},
		{2 * MIB, 2 * MIB},
		{2 * MIB + 1, 4 * MIB},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t before = free_bytes();
		dptr a;

		OK(cuMemAlloc_v2(&a, sizes[i].asked));
		CHECK(before - free_bytes() == sizes[i].taken);
		OK(cuMemFree_v2(a));
		CHECK(free_bytes() == before);
	}
}

static void managed(void)
{
	dptr a, b;

	OK(cuMemAllocManaged(&a, 600 * MIB, 1));
	CHECK(cuMemAllocManaged(&b, 600 * MIB, 1) == OUT_OF_MEMORY);
	OK(cuMemFree_v2(a));
	OK(cuMemAllocManaged(&b, 600 * MIB, 1));
}

static void pitch(void)
{
	size_t width, before = free_bytes();
	dptr a, b;

	OK(cuMemAllocPitch_v2(&a, &width, 1000, 1000, 4));
	CHECK(before - free_bytes() == MIB);
	CHECK(width * 1000 <= MIB);
	CHECK(cuMemAllocPitch_v2(&b, &width, 1 << 20, 2048, 4) == OUT_OF_MEMORY);
	OK(cuMemFree_v2(a));
	CHECK(free_bytes() == before);
}

static void size_of_device(void)
{
	size_t total;

	OK(cuDeviceTotalMem_v2(&total, 0));
	CHECK(total == QUOTA);
	CHECK(free_bytes() == QUOTA);
}

static void contexts(void)
{
	handle primary, context;
	dptr a;

	OK(cuCtxGetCurrent(&primary));
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuMemAlloc_v2(&a, 700 * MIB));
	OK(cuCtxDestroy_v2(context));
	OK(cuCtxSetCurrent(primary));
	CHECK(free_bytes() == QUOTA);
	OK(cuMemAlloc_v2(&a, 700 * MIB));
	OK(cuDevicePrimaryCtxReset_v2(0));
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuCtxSetCurrent(primary));
	CHECK(free_bytes() == QUOTA);
}

/* What kernels may allocate and print, beyond what each context has. */
static void heap(void)
{
	size_t printf_bytes, heap_bytes, now;
	handle primary, context;

	OK(cuCtxGetLimit(&printf_bytes, 1));
	OK(cuCtxGetLimit(&heap_bytes, 2));
	OK(cuCtxSetLimit(2, heap_bytes + 600 * MIB));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	CHECK(cuCtxSetLimit(2, heap_bytes + 1025 * MIB) == OUT_OF_MEMORY);
	OK(cuCtxGetLimit(&now, 2));
	CHECK(now == heap_bytes + 600 * MIB);
	OK(cuCtxSetLimit(1, printf_bytes + 64 * MIB));
	CHECK(free_bytes() == QUOTA - 664 * MIB);
	OK(cuCtxSetLimit(2, heap_bytes + 100 * MIB));
	CHECK(free_bytes() == QUOTA - 164 * MIB);
	OK(cuCtxSetLimit(1, 0));
	OK(cuCtxSetLimit(2, 0));
	CHECK(free_bytes() == QUOTA);
	OK(cuCtxGetCurrent(&primary));
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuCtxSetLimit(2, 600 * MIB));
	CHECK(free_bytes() < QUOTA - 500 * MIB);
	OK(cuCtxDestroy_v2(context));
	OK(cuCtxSetCurrent(primary));
	CHECK(free_bytes() == QUOTA);
}

/* The driver's own errors for invalid calls; bad is neither NULL nor memory. */
static void forged(void)
{
	void *bad = (void *)(uintptr_t)-1;
	struct {
		size_t width, height, depth;
		int format;
		unsigned channels, flags;
	} shape = {1024, 1024, 0, 0x20, 4, 0};
	handle array;

	OK(cuMemGetInfo_v2(NULL, NULL));
	CHECK(cuLaunchKernelEx(NULL, NULL, NULL, NULL) != 0);
	CHECK(cuMemCreate(bad, (size_t)-1, bad, UINT64_MAX) != 0);
	CHECK(cuMipmappedArrayCreate(&array, bad, UINT32_MAX) != 0);
	CHECK(cuMipmappedArrayCreate(&array, &shape, UINT32_MAX) != 0);
	CHECK(cuImportExternalMemory(&array, NULL) != 0);
	CHECK(free_bytes() == QUOTA);
}

struct resource {
	int type;
	unsigned char padding[92];
	unsigned count;
	unsigned char room[44];
};

/* A green context that is current, with an allocation. */
static handle allocate_in_green(void)
{
	struct resource all;
	handle description, green, current;
	dptr a;

	OK(cuDeviceGetDevResource(0, &all, 1));
	OK(cuDevResourceGenerateDesc(&description, &all, 1));
	OK(cuGreenCtxCreate(&green, description, 0, 1));
	OK(cuCtxFromGreenCtx(&current, green));
	OK(cuCtxSetCurrent(current));
	OK(cuMemAlloc_v2(&a, 600 * MIB));
	return green;
}

static void check_new_primary(void)
{
	handle primary;

	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuCtxSetCurrent(primary));
	CHECK(free_bytes() == QUOTA);
}

/* What is allocated while a green context is current is the primary one's, and ends with
 * that. */
static void of_green(void)
{
	handle green, primary;
	dptr b;

	OK(cuCtxGetCurrent(&primary));
	green = allocate_in_green();
	OK(cuCtxSetCurrent(primary));
	OK(cuGreenCtxDestroy(green));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	CHECK(cuMemAlloc_v2(&b, 600 * MIB) == OUT_OF_MEMORY);
	OK(cuDevicePrimaryCtxReset_v2(0));
	check_new_primary();
}

/* The green context has the last reference to the primary one. */
static void of_last_green(void)
{
	uint64_t ns = 10000000;
	void *parameters[] = {&ns};
	handle spin = load_spin(), green = allocate_in_green(), stream;

	OK(cuGreenCtxStreamCreate(&stream, green, 1, 0));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	for (int i = 0; i < 3; i++)
		OK(cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
	OK(cuGreenCtxDestroy(green));
	check_new_primary();
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"plain", plain},
	{"odd-sizes", odd_sizes},
	{"managed", managed},
	{"pitch", pitch},
	{"size", size_of_device},
	{"contexts", contexts},
	{"heap", heap},
	{"of-green", of_green},
	{"of-last-green", of_last_green},
	{"forged", forged},
	{"async", async},
	{"behind-work", behind_work},
	{"pools", pools},
	{"pools-again", pools_again},
	{"host-pool", host_pool},
	{"mapped", mapped},
	{"imported", imported},
	{"exported", exported},
	{"imported-elsewhere", imported_elsewhere},
	{"outlived", outlived},
	{"arrays", arrays},
	{"graphs", graphs},
	{"host-nodes", host_nodes},
};

static void stay(void)
{
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		;
}

int main(int argc, char **argv)
{
	handle context;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	if (argc == 3 && strcmp(argv[1], "exports") == 0) {
		exports(atoi(argv[2]));
		return 0;
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc >= 2 && strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			if (argc == 3)
				stay();
			return 0;
		}
	}
	for (size_t i = 0; argc == 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		printf("%s\n", cases[i].name);
	return argc == 1 ? 0 : 64;
}
