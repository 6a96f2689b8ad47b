/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL driver that does nothing but fail, in the way that DRIVER_FAULT names: the
 * agent must outlive it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void fail(void)
{
	const char *fault = getenv("DRIVER_FAULT");

	if (fault && strcmp(fault, "crash") == 0)
		abort();
	if (fault && strcmp(fault, "exit") == 0)
		_exit(3);
	while (fault && strcmp(fault, "hang") == 0)
		sleep(1);
}
