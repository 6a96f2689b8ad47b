/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose environment the gate cannot change: its own setenv does nothing, and
 * all libraries of the process call it instead of the C library's. */
#include "../doubles/cuda/selftest/cuda.h"

#include <stdio.h>

int setenv(const char *name, const char *value, int overwrite)
	__attribute__((visibility("default")));

int setenv(const char *name, const char *value, int overwrite)
{
	return 0;
}

int main(void)
{
	int n = 0, r = cuInit(0);

	if (r == 0)
		cuDeviceGetCount(&n);
	printf("devices %d code %d\n", n, r);
	return 0;
}
