/* SPDX-License-Identifier: Apache-2.0 */
/* A program that keeps its environment as it is: its own setenv, which every library in
 * it calls in place of the C library's, does nothing. */
#include "../doubles/cuda/selftest/cuda.h"

#include <stdio.h>

int setenv(const char *name, const char *value, int overwrite)
	__attribute__((visibility("default")));

int setenv(const char *name, const char *value, int overwrite)
{
	(void)name;
	(void)value;
	(void)overwrite;
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
