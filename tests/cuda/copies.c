/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between host and device while other leases have the GPU: the program begins with
 * a kernel that is far longer than a turn, so that it gets no turn for a while.
 *
 * usage: cuda-copies STYLE N
 *
 * Prints the milliseconds of each of N:
 *
 *   through    small copies, with pauses between them
 *   kernels    kernels, each behind a copy in a stream of its own
 *   behind     kernels that are behind a copy in the same stream
 *   within     copies within the device that are declared as from the host
 *
 * or N times how many copies were submitted until one was held:
 *
 *   many */
#include "tenant.h"

#include <string.h>
#include <time.h>

#define SMALL ((size_t)64 << 10)
#define LARGE ((size_t)16 << 20)
#define MANY_MAX 64
#define KEPT_MS 50.
#define PAUSE_NS 20000000
#define SHORT_NS 100000
#define LONG_NS 600000000

static handle copies, work, function;
static dptr device, other;
static void *host;

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void rest(void)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};

	nanosleep(&pause, NULL);
}

static void copy(handle stream, size_t bytes)
{
	OK(cuMemcpyHtoDAsync_v2(device, host, bytes, stream));
}

static void launch(handle stream, uint64_t ns)
{
	void *parameters[] = {&ns};

	OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static void through(void)
{
	copy(copies, SMALL);
	OK(cuMemcpyDtoHAsync_v2(host, device, SMALL, copies));
	OK(cuStreamSynchronize(copies));
}

static void kernels(void)
{
	handle event;

	OK(cuEventCreate(&event, 2));
	copy(copies, SMALL);
	OK(cuEventRecord(event, copies));
	OK(cuStreamWaitEvent(work, event, 0));
	launch(work, SHORT_NS);
	OK(cuStreamSynchronize(work));
	OK(cuEventDestroy_v2(event));
}

static void behind(void)
{
	handle stream;

	OK(cuStreamCreate(&stream, 1));
	copy(stream, SMALL);
	launch(stream, SHORT_NS);
	OK(cuStreamSynchronize(stream));
	OK(cuStreamDestroy_v2(stream));
}

static void within(void)
{
	OK(cuMemcpyHtoDAsync_v2(device, (const void *)(uintptr_t)other, SMALL, copies));
	OK(cuStreamSynchronize(copies));
}

static int many(void)
{
	int n = 0;

	for (double began = now_ms(); n < MANY_MAX; n++) {
		copy(copies, LARGE);
		if (now_ms() - began > KEPT_MS)
			break;
		began = now_ms();
	}
	OK(cuStreamSynchronize(copies));
	return n;
}

static const struct style {
	const char *name;
	void (*run)(void);
} styles[] = {
	{"through", through},
	{"kernels", kernels},
	{"behind", behind},
	{"within", within},
	{"many", NULL},
};

static const struct style *find(const char *name)
{
	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
		if (strcmp(styles[i].name, name) == 0)
			return &styles[i];
	}
	exit(64);
}

static void open_device(void)
{
	handle context;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	function = load_spin();
	OK(cuStreamCreate(&copies, 1));
	OK(cuStreamCreate(&work, 1));
	OK(cuMemHostAlloc(&host, LARGE, 0));
	OK(cuMemAlloc_v2(&device, LARGE));
	OK(cuMemAlloc_v2(&other, LARGE));
}

int main(int argc, char **argv)
{
	const struct style *style = argc == 3 ? find(argv[1]) : NULL;
	int n = style ? atoi(argv[2]) : 0;

	if (!style)
		return 64;
	open_device();
	launch(work, LONG_NS);
	OK(cuStreamSynchronize(work));
	for (int i = 0; i < n; i++) {
		double began;

		rest();
		began = now_ms();
		if (style->run) {
			style->run();
			printf("%.3f\n", now_ms() - began);
		} else {
			printf("%d\n", many());
		}
	}
	return 0;
}
