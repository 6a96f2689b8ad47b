/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests of memory, copies and the effects of kernels on memory. */

#define GIB ((size_t)1 << 30)

static void full(void)
{
	size_t free_bytes, total, before;
	dptr p, q;

	begin();
	OK(cuMemGetInfo_v2(&before, &total));
	CHECK(total == T4_BYTES && total - before == (size_t)300 << 20);
	OK(cuMemAlloc_v2(&p, 10 * GIB));
	IS(2, cuMemAlloc_v2(&q, 5 * GIB));
	OK(cuMemGetInfo_v2(&free_bytes, &total));
	CHECK(before - free_bytes == 10 * GIB);
	OK(cuMemFree_v2(p));
	IS(1, cuMemFree_v2(p));
	IS(1, cuMemFree_v2(0x1234));
	OK(cuMemFree_v2(0));
	IS(1, cuMemAlloc_v2(&p, 0));
	OK(cuMemGetInfo_v2(&free_bytes, &total));
	CHECK(free_bytes == before);
}

static void copies(void)
{
	char text[64] = "what is copied is copied", back[64] = "";
	dptr p, q;

	begin();
	OK(cuMemAlloc_v2(&p, 64));
	OK(cuMemAlloc_v2(&q, 64));
	OK(cuMemcpyHtoD_v2(p, text, 64));
	OK(cuMemcpyDtoD_v2(q, p, 64));
	OK(cuMemcpyDtoH_v2(back, q, 64));
	CHECK(memcmp(text, back, 64) == 0);
	OK(cuMemsetD8_v2(q + 8, 'x', 8));
	OK(cuMemcpyDtoH_v2(back, q, 64));
	CHECK(memcmp(back, "what is xxxxxxxxs copied", 24) == 0);
	OK(cuMemsetD32_v2(q, 0x64636261, 2));
	OK(cuMemcpyDtoH_v2(back, q, 8));
	CHECK(memcmp(back, "abcdabcd", 8) == 0);
	IS(1, cuMemsetD32_v2(q + 1, 0, 1));
	IS(1, cuMemcpyHtoD_v2(q, text, 65));
	IS(1, cuMemcpyHtoD_v2(0x10, text, 1));
}

struct side {
	size_t x, y;
	uint32_t type;
	const void *host;
	dptr device;
	void *array;
	size_t pitch;
};

static void rectangles(void)
{
	char from[4][8], to[4][8] = {{0}};
	struct {
		struct side src, dst;
		size_t width, height;
	} c = {.width = 3, .height = 2};
	size_t pitch;
	dptr p;

	begin();
	for (int i = 0; i < 32; i++)
		from[i / 8][i % 8] = (char)('A' + i);
	OK(cuMemAllocPitch_v2(&p, &pitch, 8, 4, 4));
	CHECK(pitch == 512);
	OK(cuMemsetD2D16_v2(p, pitch, 0x2d2d, 4, 4));
	c.src = (struct side){.x = 1, .y = 1, .type = 1, .host = from, .pitch = 8};
	c.dst = (struct side){.x = 2, .y = 1, .type = 2, .device = p, .pitch = pitch};
	OK(cuMemcpy2D_v2(&c));
	c.src = (struct side){.type = 2, .device = p, .pitch = pitch};
	c.dst = (struct side){.type = 1, .host = to, .pitch = 8};
	c.width = 8;
	c.height = 4;
	OK(cuMemcpy2D_v2(&c));
	CHECK(memcmp(to, "----------JKL-----RST-----------", 32) == 0);
}

/* Stores happen in the stream's order, at the kernel's turn and not before. */
static void stores(void)
{
	uint32_t seen[2];
	handle s;
	dptr p;

	begin();
	OK(cuStreamCreate(&s, 1));
	OK(cuMemAlloc_v2(&p, 8));
	OK(cuMemsetD32_v2(p, 0, 2));
	launch(kernel("store"), s, p, 1);
	launch(kernel("ms20"), s, 0, 0);
	launch(kernel("store"), s, p, 2);
	launch(kernel("store"), s, p + 4, 3);
	OK(cuMemcpyDtoH_v2(seen, p, 8));
	CHECK(seen[0] <= 1 && seen[1] == 0);
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH_v2(seen, p, 8));
	CHECK(seen[0] == 2 && seen[1] == 3);
}

static void staged(void)
{
	uint32_t value = 7, seen, *pinned;
	handle s;
	dptr p, managed;
	int r;

	begin();
	OK(cuStreamCreate(&s, 1));
	OK(cuMemAlloc_v2(&p, 4));
	launch(kernel("ms20"), s, 0, 0);
	OK(cuMemcpyHtoDAsync_v2(p, &value, 4, s));
	value = 8;
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH_v2(&seen, p, 4));
	CHECK(seen == 7);
	OK(cuMemHostAlloc((void **)&pinned, 4, 0));
	*pinned = 0;
	launch(kernel("ms1"), s, 0, 0);
	OK(cuMemcpyDtoHAsync_v2(pinned, p, 4, s));
	for (r = 0; r < 2000 && *(volatile uint32_t *)pinned != 7; r++)
		sleep_ms(1);
	CHECK(r < 2000);
	OK(cuMemAllocManaged(&managed, 4, 1));
	IS(801, cuMemFreeAsync(managed, NULL));
	launch(kernel("store"), s, managed, 55);
	OK(cuStreamSynchronize(s));
	CHECK(*(uint32_t *)(uintptr_t)managed == 55);
	OK(cuMemFree_v2(managed));
	OK(cuMemFreeHost(pinned));
	IS(1, cuMemFreeHost(pinned));
}

enum access { READS, WRITES };

/* Whether the host may access the address, in a child that a fault ends. */
static bool is_the_hosts(dptr address, enum access access)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		volatile char *at = (volatile char *)(uintptr_t)address;

		if (access == WRITES)
			*at = 1;
		_exit(*at & 0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
	return status == 0;
}

static dptr new_mapped(void)
{
	const struct {
		int type, handle_types, at[2];
		void *reserved;
		unsigned char flags[8];
	} on_device = {1, 0, {1, 0}, NULL, {0}};
	const struct {
		int at[2], flags;
	} access = {{1, 0}, 3};
	handle piece;
	dptr p;

	OK(cuMemCreate(&piece, 2 << 20, &on_device, 0));
	OK(cuMemAddressReserve(&p, 2 << 20, 0, 0, 0));
	OK(cuMemMap(p, 2 << 20, 0, piece, 0));
	OK(cuMemSetAccess(p, 2 << 20, &access, 1));
	return p;
}

/* The device's memory is the device's alone, and copies show what kernels store there. */
static void whose_memory(void)
{
	uint32_t seen;
	void *pinned;
	dptr devices[3], managed;
	handle s;

	begin();
	OK(cuStreamCreate(&s, 1));
	OK(cuMemAlloc_v2(&devices[0], 4096));
	OK(cuMemAllocAsync(&devices[1], 4096, s));
	devices[2] = new_mapped();
	for (uint32_t i = 0; i < 3; i++) {
		launch(kernel("store"), s, devices[i], 70 + i);
		OK(cuMemcpyDtoHAsync_v2(&seen, devices[i], 4, s));
		OK(cuStreamSynchronize(s));
		CHECK(seen == 70 + i);
		CHECK(!is_the_hosts(devices[i], READS));
		CHECK(!is_the_hosts(devices[i], WRITES));
	}
	OK(cuMemHostAlloc(&pinned, 4096, 0));
	OK(cuMemAllocManaged(&managed, 4096, 1));
	CHECK(is_the_hosts((dptr)(uintptr_t)pinned, READS));
	CHECK(is_the_hosts((dptr)(uintptr_t)pinned, WRITES));
	CHECK(is_the_hosts(managed, READS));
	CHECK(is_the_hosts(managed, WRITES));
}

/* Copies run beside kernels; 100 MB at 20 GB/s are 5 ms. */
static void beside(void)
{
	handle s, t, a, b, c;
	float ms;
	void *host;
	dptr p;

	begin();
	OK(cuStreamCreate(&s, 1));
	OK(cuStreamCreate(&t, 1));
	OK(cuEventCreate(&a, 0));
	OK(cuEventCreate(&b, 0));
	OK(cuEventCreate(&c, 0));
	OK(cuMemHostAlloc(&host, 100000000, 0));
	OK(cuMemAlloc_v2(&p, 100000000));
	OK(cuEventRecord(a, s));
	OK(cuMemcpyHtoDAsync_v2(p, host, 100000000, s));
	launch(kernel("ms20"), t, 0, 0);
	OK(cuEventRecord(b, s));
	OK(cuEventRecord(c, t));
	OK(cuCtxSynchronize());
	OK(cuEventElapsedTime(&ms, a, b));
	BETWEEN(5.0, ms, 8.0);
	OK(cuEventElapsedTime(&ms, a, c));
	BETWEEN(20.0, ms, 23.0);
}

/* Code is loaded at the first launch. */
static void lazy(void)
{
	long long before;

	begin();
	before = stat_of("gpu 0", "used");
	launch(kernel("big"), NULL, 0, 0);
	CHECK(stat_of("gpu 0", "used") - before == 67108864);
	launch(kernel("big"), NULL, 0, 0);
	CHECK(stat_of("gpu 0", "used") - before == 67108864);
}

static void bad_handles(void)
{
	void *params[2] = {&params, &params};
	handle f, module;

	begin();
	f = kernel("us20");
	IS(200, cuModuleLoadData(&module, "no module"));
	OK(cuModuleLoadData(&module, "cleave-double-module\nkernel a 1\n"));
	IS(500, cuModuleGetFunction(&f, module, "b"));
	OK(cuModuleGetFunction(&f, module, "a"));
	IS(1, cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	IS(1, cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL));
	OK(cuModuleUnload(module));
	IS(400, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	IS(400, cuModuleUnload(module));
}

/* The oldest launch API, and a buffer instead of addresses. */
static void other_launches(void)
{
	handle store, kernel_of_library, library;
	struct {
		uint64_t at;
		uint32_t value;
	} buffer;
	size_t bytes = 12;
	void *extra[] = {(void *)1, &buffer, (void *)2, &bytes, NULL};
	struct {
		unsigned grid[3], block[3], shared;
		handle stream;
		void *attributes;
		unsigned n;
	} config = {{50, 2, 1}, {1, 1, 1}, 0, NULL, NULL, 0};
	uint32_t seen;
	dptr p;

	begin();
	OK(cuMemAlloc_v2(&p, 4));
	store = kernel("store");
	buffer.at = p;
	buffer.value = 11;
	OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	OK(cuMemcpyDtoH_v2(&seen, p, 4));
	CHECK(seen == 11);
	buffer.value = 12;
	OK(cuFuncSetBlockShape(store, 1, 1, 1));
	OK(cuParamSetSize(store, 12));
	OK(cuParamSetv(store, 0, &buffer, 12));
	OK(cuLaunch(store));
	OK(cuMemcpyDtoH_v2(&seen, p, 4));
	CHECK(seen == 12);
	OK(cuLibraryLoadData(&library, "cleave-double-module\nkernel l scaled 1000\n",
		NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&kernel_of_library, library, "l"));
	OK(cuLaunchKernelEx(&config, kernel_of_library, NULL, NULL));
	OK(cuCtxSynchronize());
	CHECK(stat_of("process", "run_ns") == 100000);
}

#define HEAP 2

/* The kernels' heap takes its memory when its size is set. */
static void heap(void)
{
	long long before;

	begin();
	before = stat_of("process", "bytes");
	OK(cuCtxSetLimit(HEAP, (8 + 100) << 20));
	CHECK(stat_of("process", "bytes") == before + (100 << 20));
	OK(cuCtxSetLimit(HEAP, 8 << 20));
	CHECK(stat_of("process", "bytes") == before);
	IS(2, cuCtxSetLimit(HEAP, (size_t)1 << 40));
	OK(cuCtxSetLimit(HEAP, (8 + 100) << 20));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	CHECK(stat_of("process", "bytes") == 0);
}

/* An import and the exported handle both keep the memory alive. */
static void imported(void)
{
	const struct {
		int type, handle_types, at[2];
		void *reserved;
		unsigned char flags[8];
	} on_device = {1, 1, {1, 0}, NULL, {0}};
	long long before;
	handle first, second;
	int fd;

	begin();
	before = stat_of("process", "bytes");
	OK(cuMemCreate(&first, 2 << 20, &on_device, 0));
	OK(cuMemExportToShareableHandle(&fd, first, 1, 0));
	OK(cuMemImportFromShareableHandle(&second, (handle)(intptr_t)fd, 1));
	OK(cuMemRelease(first));
	CHECK(stat_of("process", "bytes") == before + (2 << 20));
	OK(cuMemRelease(second));
	CHECK(stat_of("process", "bytes") == before);
}

const struct case_of_test memory_cases[] = {
	{"full", full, NULL, "gpu T4\n"},
	{"copies", copies, NULL, NULL},
	{"rectangles", rectangles, NULL, NULL},
	{"stores", stores, NULL, NULL},
	{"staged", staged, NULL, NULL},
	{"whose-memory", whose_memory, NULL, NULL},
	{"beside", beside, NULL, NULL},
	{"lazy", lazy, NULL, NULL},
	{"bad-handles", bad_handles, NULL, NULL},
	{"other-launches", other_launches, NULL, NULL},
	{"heap", heap, NULL, NULL},
	{"imported", imported, NULL, NULL},
	{0},
};
