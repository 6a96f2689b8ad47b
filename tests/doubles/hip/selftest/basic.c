/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <string.h>

/* Tests of HIP's devices, memory, copies and launches. */

static void devices(void)
{
	struct uuid uuid;
	char text[64];
	int n, value;
	size_t bytes;

	OK(hipInit(0));
	OK(hipGetDeviceCount(&n));
	CHECK(n == 2);
	OK(hipDeviceGetName(text, sizeof(text), 1));
	CHECK(strcmp(text, "AMD Radeon RX 7900 XTX") == 0);
	OK(hipDeviceGetPCIBusId(text, sizeof(text), 1));
	CHECK(strcmp(text, "0000:15:00.0") == 0);
	OK(hipDeviceGetByPCIBusId(&value, text));
	CHECK(value == 1);
	OK(hipDeviceTotalMem(&bytes, 1));
	CHECK(bytes == 24 * GIB - 16 * MIB);
	OK(hipDeviceGetAttribute(&value, 63, 1));
	CHECK(value == 96);
	OK(hipDeviceGetAttribute(&value, 87, 1));
	CHECK(value == 32);
	OK(hipDeviceGetUuid(&uuid, 1));
	CHECK(memcmp(uuid.bytes, "9a3b000000001500", 16) == 0);
	IS(HIP_INVALID_DEVICE, hipSetDevice(2));
	IS(HIP_INVALID_DEVICE, hipGetLastError());
	OK(hipGetLastError());
}

static void visible(void)
{
	char text[64];
	int n;

	setenv("ROCR_VISIBLE_DEVICES", "1,0", 1);
	setenv("HIP_VISIBLE_DEVICES", "0", 1);
	OK(hipGetDeviceCount(&n));
	CHECK(n == 1);
	OK(hipDeviceGetName(text, sizeof(text), 0));
	CHECK(strcmp(text, "AMD Radeon RX 7900 XTX") == 0);
}

static void no_machine(void)
{
	int n;

	unsetenv("CLV_HIP_DOUBLE");
	IS(HIP_NO_DEVICE, hipGetDeviceCount(&n));
	IS(HIP_NO_DEVICE, hipInit(0));
}

static void memory(void)
{
	size_t left, total;
	void *p, *q;

	OK(hipMalloc(&p, 40 * GIB));
	CHECK(stat_of("gpu 0", "used") == (long long)(40 * GIB));
	OK(hipMemGetInfo(&left, &total));
	CHECK(total == 64 * GIB - 16 * MIB && left == total - 40 * GIB);
	IS(HIP_OUT_OF_MEMORY, hipMalloc(&q, 40 * GIB));
	IS(HIP_OUT_OF_MEMORY, hipPeekAtLastError());
	OK(hipFree(p));
	IS(HIP_INVALID_VALUE, hipFree(p));
	OK(hipFree(NULL));
	CHECK(stat_of("gpu 0", "used") == 0);
	CHECK(stat_of("process", "peak") == (long long)(40 * GIB));
}

static void round_trip(void)
{
	char from[5000], to[5000] = "";
	void *p, *q;

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (char)i;
	OK(hipMalloc(&p, sizeof(from)));
	OK(hipMalloc(&q, sizeof(from)));
	OK(hipMemcpy(p, from, sizeof(from), HIP_TO_DEVICE));
	OK(hipMemcpy(q, p, sizeof(from), HIP_WITHIN));
	OK(hipMemset(q, 'z', 10));
	OK(hipMemsetD32((char *)q + 16, 0x61626364, 2));
	OK(hipMemcpy(to, q, sizeof(to), HIP_TO_HOST));
	CHECK(memcmp(to, "zzzzzzzzzz", 10) == 0 && memcmp(to + 16, "dcbadcba", 8) == 0);
	CHECK(memcmp(to + 24, from + 24, sizeof(to) - 24) == 0);
	IS(HIP_INVALID_VALUE, hipMemcpy(p, from, sizeof(from) + 8192, HIP_TO_DEVICE));
	IS(HIP_INVALID_DIRECTION, hipMemcpy(p, from, 1, 9));
}

static void stores(void)
{
	uint32_t value = 0;
	void *p;

	OK(hipMalloc(&p, 64));
	OK(hipMemset(p, 0, 64));
	launch(kernel("store"), NULL, (uintptr_t)p + 8, 4711);
	OK(hipMemcpy(&value, (char *)p + 8, 4, HIP_TO_HOST));
	CHECK(value == 4711);
}

/* As the compiler generates it: a stub, registered at program start. */
static void stub(void)
{
}

static void compiled(void)
{
	struct fat_binary binary = {HIP_FAT_MAGIC, 1, test_image, NULL};
	uint32_t value = 0, number = 12;
	void **modules = __hipRegisterFatBinary(&binary), *p, *args[2] = {&p, &number};
	struct dim3 one = {1, 1, 1}, grid, block;
	struct stream *stream;
	size_t shared;

	__hipRegisterFunction(modules, (void *)stub, (char *)(uintptr_t) "store", "store",
		0, NULL, NULL, NULL, NULL, NULL);
	OK(hipMalloc(&p, 4));
	OK(__hipPushCallConfiguration(one, one, 0, NULL));
	OK(__hipPopCallConfiguration(&grid, &block, &shared, &stream));
	OK(hipLaunchKernel((void *)stub, grid, block, args, shared, stream));
	OK(hipMemcpy(&value, p, 4, HIP_TO_HOST));
	CHECK(value == 12);
	CHECK(strcmp(hipKernelNameRefByPtr((void *)stub, NULL), "store") == 0);
	IS(HIP_INVALID_DEVICE_FUNCTION,
		hipLaunchKernel((void *)compiled, one, one, args, 0, NULL));
	__hipUnregisterFatBinary(modules);
	IS(HIP_INVALID_DEVICE_FUNCTION,
		hipLaunchKernel((void *)stub, one, one, args, 0, NULL));
}

static void launches(void)
{
	struct event *from, *to;
	struct func *f = kernel("groups");
	struct module *module;
	uint64_t ns = 3000000;
	size_t bytes = sizeof(ns);
	void *extra[] = {
		HIP_BUFFER_POINTER, &ns, HIP_BUFFER_SIZE, &bytes, HIP_BUFFER_END};

	OK(hipEventCreate(&from));
	OK(hipEventCreate(&to));
	/* The first launch takes as long as this machine needs. */
	launch(kernel("ms100"), NULL, 0, 0);
	OK(hipEventRecord(from, NULL));
	OK(hipModuleLaunchKernel(f, 10, 10, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	OK(hipEventRecord(to, NULL));
	OK(hipEventSynchronize(to));
	BETWEEN(0.0999, elapsed_ms(from, to), 0.1001);
	launch(kernel("ms100"), NULL, 0, 0);
	OK(hipEventRecord(from, NULL));
	OK(hipModuleLaunchKernel(kernel("spin"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	OK(hipEventRecord(to, NULL));
	OK(hipEventSynchronize(to));
	BETWEEN(2.999, elapsed_ms(from, to), 3.001);
	IS(HIP_INVALID_CONFIGURATION,
		hipModuleLaunchKernel(f, 1, 1, 1, 2000, 1, 1, 0, NULL, NULL, NULL));
	IS(HIP_INVALID_DEVICE_FUNCTION,
		hipModuleLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	IS(HIP_INVALID_IMAGE, hipModuleLoadData(&module, "nothing"));
}

static void rows(void)
{
	char from[64], to[64] = "";
	size_t pitch;
	void *p;

	for (int i = 0; i < 64; i++)
		from[i] = (char)i;
	OK(hipMallocPitch(&p, &pitch, 8, 8));
	CHECK(pitch == 256);
	OK(hipMemcpy2D(p, pitch, from, 8, 8, 8, HIP_TO_DEVICE));
	OK(hipMemset2D((char *)p + pitch, pitch, 'y', 4, 2));
	OK(hipMemcpy2D(to, 8, p, pitch, 8, 8, HIP_TO_HOST));
	CHECK(memcmp(to, from, 8) == 0 && memcmp(to + 24, from + 24, 40) == 0);
	CHECK(memcmp(to + 8, "yyyy\14\15\16\17yyyy", 12) == 0);
}

static void faults(void)
{
	void *p;

	OK(hipMalloc(&p, 64));
	write_file("hip-faults", "hipMalloc 2 2\nhsa_amd_memory_pool_allocate 1 4104\n");
	IS(2, hipMalloc(&p, 64));
	IS(2, hipMalloc(&p, 64));
	IS(2, hipMalloc(&p, 64)); /* an injected fault of HSA */
	OK(hipMalloc(&p, 64));
}

const struct case_of_test basic_cases[] = {
	{"hip-devices", devices, NULL, "gpu MI210\ngpu RX7900XTX\n"},
	{"hip-visible", visible, NULL, "gpu MI210\ngpu RX7900XTX\n"},
	{"no-machine", no_machine, NULL, NULL},
	{"memory", memory, NULL, NULL},
	{"round-trip", round_trip, NULL, NULL},
	{"stores", stores, NULL, NULL},
	{"compiled", compiled, NULL, NULL},
	{"launches", launches, NULL, NULL},
	{"rows", rows, NULL, NULL},
	{"faults", faults, NULL, NULL},
	{0},
};
