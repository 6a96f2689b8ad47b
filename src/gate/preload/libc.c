/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the C library's own dlsym and dlvsym. */
#include "gate/preload/libc.h"

#include "gate/preload/elf.h"

typedef void *(*find_function)(void *handle, const char *symbol);

void *clv_libc_dlsym, *clv_libc_dlvsym;

void clv_libc_find(void)
{
	if (__atomic_load_n(&clv_libc_dlsym, __ATOMIC_ACQUIRE))
		return;
	clv_libc_dlvsym = clv_elf_find_in_libc("dlvsym");
	__atomic_store_n(
		&clv_libc_dlsym, clv_elf_find_in_libc("dlsym"), __ATOMIC_RELEASE);
}

void *clv_real_dlsym(void *handle, const char *symbol)
{
	clv_libc_find();
	return ((find_function)clv_libc_dlsym)(handle, symbol);
}
