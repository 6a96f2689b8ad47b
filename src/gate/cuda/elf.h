/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The address of a function that the C library exports, without asking dlsym: this
 * library has a dlsym of its own in front.  NULL: it exports none of that name. */
void *clv_elf_find_in_libc(const char *symbol);
