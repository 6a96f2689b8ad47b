/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to get more than the share: each call of CUDA that gives the GPU work, as much of
 * it as possible. */
#include "cuda.h"

#include <string.h>

int cuLaunchCooperativeKernel(handle function, unsigned gx, unsigned gy, unsigned gz,
	unsigned bx, unsigned by, unsigned bz, unsigned shared, handle stream,
	void **parameters);
int cuLaunchCooperativeKernelMultiDevice(void *launches, unsigned n, unsigned flags);
int cuLaunchGrid(handle function, int width, int height);
int cuLaunchGridAsync(handle function, int width, int height, handle stream);
int cuLaunchKernelEx_ptsz(
	const void *config, handle function, void **parameters, void **extra);
int cuMemcpyDtoDAsync_v2(dptr to, dptr from, size_t bytes, handle stream);
int cuMemcpyAsync(dptr to, dptr from, size_t bytes, handle stream);
int cuMemcpyPeerAsync(
	dptr to, handle to_context, dptr from, handle from_context, size_t n, handle s);
int cuMemcpyBatchAsync(dptr *to, dptr *from, size_t *sizes, size_t n, void *attributes,
	size_t *indices, size_t n_attributes, size_t *failed, handle stream);
int cuMemsetD8Async(dptr to, unsigned char value, size_t n, handle stream);
int cuMemsetD2D32Async(
	dptr to, size_t pitch, unsigned value, size_t width, size_t height, handle s);
int cuStreamCreateWithPriority(handle *stream, unsigned flags, int priority);
int cuStreamSynchronize_ptsz(handle stream);

struct config {
	unsigned grid[3], block[3], shared;
	handle stream;
	void *attributes;
	unsigned n_attributes;
};

static uint64_t kernel_ns = KERNEL_NS;
static void *parameters[] = {&kernel_ns};

static void plain(handle stream)
{
	launch(stream, kernel_ns);
}

static void long_kernel(handle stream)
{
	launch(stream, 50000000);
}

static void legacy(handle stream)
{
	launch(NULL, kernel_ns);
}

static void legacy_by_number(handle stream)
{
	launch((handle)1, kernel_ns);
}

static void of_thread(handle stream)
{
	OK(cuLaunchKernel_ptsz(spin, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
}

static void of_thread_by_number(handle stream)
{
	launch((handle)2, kernel_ns);
}

typedef int launch_function(handle function, unsigned gx, unsigned gy, unsigned gz,
	unsigned bx, unsigned by, unsigned bz, unsigned shared, handle stream,
	void **parameters, void **extra);

/* As runtimes look the call up that are built for per-thread default streams. */
static void of_thread_by_flag(handle stream)
{
	static launch_function *function;

	if (!function)
		OK(cuGetProcAddress(
			"cuLaunchKernel", (void **)(void *)&function, 12000, 2));
	OK(function(spin, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
}

static void cooperative(handle stream)
{
	OK(cuLaunchCooperativeKernel(spin, 1, 1, 1, 32, 1, 1, 0, stream, parameters));
}

static void cooperative_on_several(handle stream)
{
	struct {
		handle function;
		unsigned grid[3], block[3], shared;
		handle stream;
		void **parameters;
	} of_one = {spin, {1, 1, 1}, {32, 1, 1}, 0, stream, parameters};

	OK(cuLaunchCooperativeKernelMultiDevice(&of_one, 1, 0));
}

static void extended(handle stream)
{
	struct config config = {{1, 1, 1}, {32, 1, 1}, 0, stream, NULL, 0};

	OK(cuLaunchKernelEx(&config, spin, parameters, NULL));
}

static void extended_of_thread(handle stream)
{
	struct config config = {{1, 1, 1}, {32, 1, 1}, 0, NULL, NULL, 0};

	OK(cuLaunchKernelEx_ptsz(&config, spin, parameters, NULL));
}

static void prepare_ancient(void)
{
	OK(cuFuncSetBlockShape(spin, 32, 1, 1));
	OK(cuParamSetSize(spin, 8));
	OK(cuParamSetv(spin, 0, &kernel_ns, 8));
}

/* The calls of CUDA before version 4. */
static void ancient(handle stream)
{
	OK(cuLaunch(spin));
	OK(cuLaunchGrid(spin, 1, 1));
	OK(cuLaunchGridAsync(spin, 1, 1, stream));
}

static handle library_kernel;

static void prepare_library(void)
{
	handle library;

	OK(cuLibraryLoadData(&library, "cleave-double-module\nkernel spin param\n", NULL,
		NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&library_kernel, library, "spin"));
}

static void of_library(handle stream)
{
	OK(cuLaunchKernel(
		library_kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static handle urgent;

static void prepare_urgent(void)
{
	OK(cuStreamCreateWithPriority(&urgent, 1, -5));
}

static void in_urgent_stream(handle stream)
{
	launch(urgent, kernel_ns);
}

/* A new size of the kernel for each launch, of which the gate knows no duration. */
static void never_seen(handle stream)
{
	static unsigned n;

	OK(cuLaunchKernel(
		spin, 1 + n++ % 65000, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

/* A kernel whose duration predicts nothing about the next launch. */
static void of_changing_length(handle stream)
{
	static unsigned n;

	launch(stream, n++ % 100 ? 2000 : 20000000);
}

/* --- Copies and fills: within the device they take the multiprocessors' time --- */

#define COPY_BYTES (500 * 1000)

static dptr from, to;

static void prepare_copies(void)
{
	OK(cuMemAlloc_v2(&from, PIECE_BYTES));
	OK(cuMemAlloc_v2(&to, PIECE_BYTES));
}

static void copies(handle stream)
{
	OK(cuMemcpyDtoDAsync_v2(to, from, COPY_BYTES, stream));
	OK(cuMemcpyAsync(to, from, COPY_BYTES, stream));
}

/* The copies are within the device, by a call that is named as one from the host; the
 * stream has no other work. */
static void copies_named_from_host(handle stream)
{
	OK(cuMemcpyHtoDAsync_v2(to, (const void *)(uintptr_t)from, COPY_BYTES, stream));
}

static void batches(handle stream)
{
	dptr all_from[64], all_to[64];
	size_t sizes[64], index = 0, failed = 0;
	uint64_t attributes[8] = {1};

	for (int i = 0; i < 64; i++) {
		all_from[i] = from;
		all_to[i] = to;
		sizes[i] = COPY_BYTES / 64;
	}
	OK(cuMemcpyBatchAsync(
		all_to, all_from, sizes, 64, attributes, &index, 1, &failed, stream));
}

static void copies_2d(handle stream)
{
	struct {
		size_t x, y;
		int type;
		void *host;
		dptr device;
		handle array;
		size_t pitch;
	} sides[2] = {{0, 0, 2, NULL, from, NULL, 5000}, {0, 0, 2, NULL, to, NULL, 5000}};
	struct {
		unsigned char ends[2 * sizeof(sides[0])];
		size_t width, height;
	} copy = {.width = 5000, .height = 100};

	memcpy(copy.ends, sides, sizeof(sides));
	OK(cuMemcpy2D_v2(&copy));
}

static void copies_between_peers(handle stream)
{
	handle context;

	OK(cuCtxGetCurrent(&context));
	OK(cuMemcpyPeerAsync(to, context, from, context, COPY_BYTES, stream));
}

static void copies_that_block(handle stream)
{
	OK(cuMemcpyDtoD_v2(to, from, COPY_BYTES));
}

static void fills(handle stream)
{
	OK(cuMemsetD8Async(to, 1, COPY_BYTES, stream));
	OK(cuMemsetD2D32Async(to, 5000, 1, 1250, 100, stream));
}

const struct flood way_floods[] = {
	{"queue", plain, 16, NULL},
	{"big-kernel-and-wait", long_kernel, 1, NULL},
	{"legacy", legacy, 16, NULL},
	{"legacy-by-number", legacy_by_number, 16, NULL},
	{"per-thread-by-symbol", of_thread, 16, NULL},
	{"per-thread-by-number", of_thread_by_number, 16, NULL},
	{"per-thread-by-flag", of_thread_by_flag, 16, NULL},
	{"cooperative", cooperative, 16, NULL},
	{"cooperative-on-several", cooperative_on_several, 16, NULL},
	{"extended", extended, 16, NULL},
	{"extended-per-thread", extended_of_thread, 16, NULL},
	{"ancient", ancient, 5, prepare_ancient},
	{"library-kernel", of_library, 16, prepare_library},
	{"urgent-stream", in_urgent_stream, 16, prepare_urgent},
	{"never-seen", never_seen, 16, NULL},
	{"changing-lengths", of_changing_length, 200, NULL},
	{"copies", copies, 8, prepare_copies},
	{"copies-2d", copies_2d, 16, prepare_copies},
	{"copies-between-peers", copies_between_peers, 16, prepare_copies},
	{"copies-that-block", copies_that_block, 16, prepare_copies},
	{"copies-in-batches", batches, 16, prepare_copies},
	{"copies-named-from-host", copies_named_from_host, 16, prepare_copies},
	{"fills", fills, 8, prepare_copies},
	{NULL, NULL, 0, NULL},
};
