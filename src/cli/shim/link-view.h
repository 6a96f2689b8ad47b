/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <link.h>
#include <stdint.h>

/* Appends to a shim (shim.h) what linkers read of a shared object: sections with the
 * library's symbols and versions.  Loaders read the segments, where a shim has none, so
 * programs that are built inside a lease link with a shim as with the library itself.
 *
 * Writes to fd from offset `at` on, and sets the section fields of *header, which the
 * caller writes.  A library without sections gives none.  0 or -errno. */
int clv_link_view_append(int fd, uint64_t at, const char *library, const char *soname,
	ElfW(Ehdr) * header);
