/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/paths.h"

#include <stdbool.h>

struct clv_error;

/* A shared object that has nothing of its own: it has a library's name, and needs a gate
 * and, after it, the library itself.  Where it lies in the library's place, whoever loads
 * that, linked or at run time, finds the gate's functions first and the library's others
 * behind them, those too that the gate does not know. */

/* Writes one.  The names are paths, the soname is what programs ask for.  Its symbols'
 * versions are those of the library, which still is where original says. */
int clv_shim_write(const char *path, const char *soname, const char *gate,
	const char *library, const char *original, struct clv_error *err);

/* Whether the file is a shim, and what library it is in front of. */
bool clv_shim_read(const char *path, char ret_library[CLV_PATH_MAX]);
