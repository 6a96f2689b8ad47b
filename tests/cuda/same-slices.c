/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded, this simulates a kernel driver that accepts time slices and ignores them. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define RM_CONTROL 0x2a
#define SET_TIMESLICE 0xa06c0103u

/* NVOS54_PARAMETERS */
struct call {
	uint32_t client, object, command, flags;
	uint64_t parameters;
	uint32_t n_bytes, status;
};

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, ...);
	struct call *call;
	va_list rest;

	va_start(rest, request);
	call = va_arg(rest, struct call *);
	va_end(rest);
	if (_IOC_TYPE(request) == 'F' && _IOC_NR(request) == RM_CONTROL &&
		call->command == SET_TIMESLICE) {
		call->status = 0;
		return 0;
	}
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ioctl");
	return next(fd, request, call);
}
