/* SPDX-License-Identifier: Apache-2.0 */
/* A preload library without limits: launches pass through it. */
#include <dlfcn.h>
#include <stddef.h>

typedef int launch_function(void *function, unsigned gx, unsigned gy, unsigned gz,
	unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
	void **parameters, void **extra);

__attribute__((visibility("default"))) launch_function cuLaunchKernel;

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
	unsigned by, unsigned bz, unsigned shared, void *stream, void **parameters,
	void **extra)
{
	static launch_function *next;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "cuLaunchKernel");
	return next(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}
