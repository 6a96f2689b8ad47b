/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The address of a function that the C library exports, found without dlsym, which this
 * library interposes.  NULL: the C library exports no such symbol. */
void *clv_elf_find_in_libc(const char *symbol);

/* Whether the program is linked statically and has opened shared libraries all the same.
 * Their C library is another one than the program's, and creates no threads there. */
bool clv_elf_is_in_static_program(void);
