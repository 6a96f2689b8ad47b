/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/paths.h"

#include <stdbool.h>

struct clv_error;

/* A shim is an empty shared object with the name of a library, which needs a gate and
 * then the library itself.  It is mounted over the library: a program that loads the
 * library, linked or at run time, finds the gate's functions first, and the library's
 * functions for everything that the gate does not have.  Linkers find the library's
 * symbols in it (link-view.h). */

/* Writes a shim.  soname is the name that programs load; gate and library are paths.  The
 * symbol versions come from the library, which is still at original.  0 or -errno. */
int clv_shim_write(const char *path, const char *soname, const char *gate,
	const char *library, const char *original, struct clv_error *err);

/* Whether the file is a shim, and the library that it needs. */
bool clv_shim_read(const char *path, char ret_library[CLV_PATH_MAX]);
