/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Calls found with every path at which the system's loader may find the library, in
 * search order: the caller's LD_LIBRARY_PATH, the loader's cache, its default folders.  A
 * path need not exist, and one file may have several.  RPATH and RUNPATH of a program are
 * not included: cli/launch/image.h. */
void clv_libraries_each(const char *soname,
	void (*found)(void *userdata, const char *path), void *userdata);

/* The same for a list of folders as in LD_LIBRARY_PATH, which may be NULL. */
void clv_libraries_in(const char *list, const char *soname,
	void (*found)(void *userdata, const char *path), void *userdata);

/* The same for the content of a cache of that loader (ld.so.cache). */
void clv_libraries_of_cache(const void *cache, size_t n_bytes, const char *soname,
	void (*found)(void *userdata, const char *path), void *userdata);
