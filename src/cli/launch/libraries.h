/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Calls found with every path at which the system's loader may find the library, in the
 * order in which it looks: the caller's LD_LIBRARY_PATH, its cache, its own folders.  Not
 * every path has a file, and one file may have several.  What a program's own headers
 * name (RPATH, RUNPATH) is not known: cli/launch/image.h. */
void clv_libraries_each(const char *soname,
	void (*found)(void *userdata, const char *path), void *userdata);

/* The same of a list of folders as in LD_LIBRARY_PATH, which may be NULL. */
void clv_libraries_in(const char *list, const char *soname,
	void (*found)(void *userdata, const char *path), void *userdata);

/* The paths that a cache of that loader (ld.so.cache) has for the library. */
void clv_libraries_of_cache(const void *cache, size_t n_bytes, const char *soname,
	void (*found)(void *userdata, const char *path), void *userdata);
