/* SPDX-License-Identifier: Apache-2.0 */
/* A program that says that it runs, whatever it is linked with. */
#include <stdio.h>

int main(void)
{
	puts("runs");
	return 0;
}
