/* SPDX-License-Identifier: Apache-2.0 */
/* Prints how many devices a program sees. */
#include "tenant.h"

int main(void)
{
	int n = 0;

	hipGetDeviceCount(&n);
	printf("%d\n", n);
	return 0;
}
