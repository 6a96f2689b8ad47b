/* SPDX-License-Identifier: Apache-2.0 */
/* Prints that it runs; for tests that link it with different libraries. */
#include <stdio.h>

int main(void)
{
	puts("runs");
	return 0;
}
