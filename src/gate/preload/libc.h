/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The C library's own dlsym and dlvsym, which the gate interposes (find.c).  Any
 * thread. */

void *clv_real_dlsym(void *handle, const char *symbol);

/* Sets clv_libc_dlsym and clv_libc_dlvsym, once. */
void clv_libc_find(void);

/* The stubs of find.c jump to these. */
extern void *clv_libc_dlsym __attribute__((visibility("hidden")));
extern void *clv_libc_dlvsym __attribute__((visibility("hidden")));
