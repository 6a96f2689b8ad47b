/* SPDX-License-Identifier: Apache-2.0 */
/* What a program with a quota of 1 GiB can allocate, and what it sees.
 *
 * usage: cuda-memory CASE */
#include "memory.h"

#include <string.h>

int cuMemAllocManaged(dptr *address, size_t bytes, unsigned flags);
int cuMemAllocPitch_v2(
	dptr *address, size_t *pitch, size_t width, size_t height, unsigned element);
int cuDevicePrimaryCtxReset_v2(int device);
int cuCtxCreate_v2(handle *context, unsigned flags, int device);
int cuCtxDestroy_v2(handle context);

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
	CHECK(before - free_bytes() == width * 1000);
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

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"plain", plain},
	{"managed", managed},
	{"pitch", pitch},
	{"size", size_of_device},
	{"contexts", contexts},
	{"async", async},
	{"pools", pools},
	{"mapped", mapped},
	{"imported", imported},
	{"arrays", arrays},
	{"graphs", graphs},
};

int main(int argc, char **argv)
{
	handle context;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	}
	for (size_t i = 0; argc == 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		printf("%s\n", cases[i].name);
	return argc == 1 ? 0 : 64;
}
