/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The address of a function that the C library exports, without asking dlsym: this
 * library has a dlsym of its own in front.  NULL: it exports none of that name. */
void *clv_elf_find_in_libc(const char *symbol);

/* Whether the program is linked statically and has opened libraries all the same.  Its C
 * library is not theirs, and theirs makes no threads there. */
bool clv_elf_is_in_static_program(void);
