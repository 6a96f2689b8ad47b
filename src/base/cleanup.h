/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdlib.h>
#include <unistd.h>

/* Scope-bound release of resources.  A variable marked with one of the _cleanup_x_
 * attributes is released when it leaves its scope, unless CLV_TAKE() or CLV_TAKE_FD()
 * moved its value out. */
#define CLV_CLEANUP(f) __attribute__((cleanup(f)))

#define CLV_DEFINE_CLEANUP(type, free_function)      \
	static inline void free_function##p(type *p) \
	{                                            \
		free_function(*p);                   \
	}

#define CLV_TAKE(pointer)                               \
	({                                              \
		__typeof__(pointer) taken_ = (pointer); \
		(pointer) = NULL;                       \
		taken_;                                 \
	})

#define CLV_TAKE_FD(fd)            \
	({                         \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	})

#define CLV_ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static inline void clv_free_pointer(void *p)
{
	free(*(void **)p);
}

static inline void clv_close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define _cleanup_free_ CLV_CLEANUP(clv_free_pointer)
#define _cleanup_close_ CLV_CLEANUP(clv_close_fd)
