/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <time.h>

/* The kernel's own clock_gettime, in the code that it maps into every process.  Returns 0
 * or a negative errno. */
typedef int (*clv_vdso_clock_fn)(clockid_t clock, struct timespec *ret);

/* NULL: the kernel gives none (valgrind hides it). */
clv_vdso_clock_fn clv_vdso_find_clock(void);
