/* SPDX-License-Identifier: Apache-2.0 */
/* How many devices a program sees. */
#include "tenant.h"

int main(void)
{
	int n = 0, r = cuInit(0);

	if (r == 0)
		OK(cuDeviceGetCount(&n));
	else if (r != 100)
		return 1;
	printf("%d\n", n);
	return 0;
}
