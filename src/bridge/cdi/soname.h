/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Reads the name by which a library is loaded (DT_SONAME) from a 64-bit ELF file for this
 * machine.  false: it is no such library, or has no name. */
bool clv_cdi_soname(const char *path, char *ret, size_t ret_bytes);
