/* SPDX-License-Identifier: Apache-2.0 */
/* A libnvidia-ml with almost no functions: one GPU, and no facts about it. */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
	return 0;
}

EXPORT int nvmlDeviceGetCount_v2(uint32_t *count);
int nvmlDeviceGetCount_v2(uint32_t *count)
{
	*count = 1;
	return 0;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(uint32_t index, void **ret);
int nvmlDeviceGetHandleByIndex_v2(uint32_t index, void **ret)
{
	static char gpu;

	*ret = &gpu;
	return 0;
}
