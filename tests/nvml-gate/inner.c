/* SPDX-License-Identifier: Apache-2.0 */
/* A library named like NVML whose functions call each other by name, so that a preloaded
 * library intercepts those calls. It has one device, an eighth of whose memory the driver
 * keeps. */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define GIB (UINT64_C(1) << 30)

struct memory {
	uint64_t total, free, used;
};

struct memory_v2 {
	uint32_t version;
	uint64_t total, reserved, free, used;
};

EXPORT int nvmlInit_v2(void);
EXPORT const char *nvmlErrorString(int code);
EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory *ret);
EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_v2 *ret);

int nvmlInit_v2(void)
{
	return 0;
}

const char *nvmlErrorString(int code)
{
	return code ? "Unknown Error" : "Success";
}

int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_v2 *ret)
{
	ret->total = 8 * GIB;
	ret->reserved = GIB;
	ret->free = 7 * GIB;
	ret->used = 0;
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *ret)
{
	struct memory_v2 memory = {.version = sizeof(memory) | 2u << 24};
	int r = nvmlDeviceGetMemoryInfo_v2(device, &memory);

	ret->total = memory.total;
	ret->free = memory.free;
	ret->used = memory.used + memory.reserved;
	return r;
}
