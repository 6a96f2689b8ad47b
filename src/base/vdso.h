/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <time.h>

/* clock_gettime of the vDSO.  Returns 0 or a negative errno. */
typedef int (*clv_vdso_clock_fn)(clockid_t clock, struct timespec *ret);

/* Finds it.  NULL if the process has no vDSO (valgrind hides it). */
clv_vdso_clock_fn clv_vdso_find_clock(void);
