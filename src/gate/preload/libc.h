/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The C library's own look-up of symbols, below the gate's (find.c).  Any thread. */

void *clv_real_dlsym(void *handle, const char *symbol);

/* Finds what clv_libc_dlsym and clv_libc_dlvsym point to, once. */
void clv_libc_find(void);

/* The stubs of find.c jump to these. */
extern void *clv_libc_dlsym __attribute__((visibility("hidden")));
extern void *clv_libc_dlvsym __attribute__((visibility("hidden")));
