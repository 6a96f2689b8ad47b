/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/paths.h"
#include "core/device/icd-loader.h"

#include <stdbool.h>

/* The OpenCL loader that a program meets: what its own headers name (RPATH, RUNPATH), the
 * caller's LD_LIBRARY_PATH, and the system's loader's cache and folders, in the order in
 * which that looks.  What a script's interpreter or a library opens by a path is not
 * known.  program may be NULL.  False: there is none. */
bool clv_loader_find(
	const char *program, char ret_path[CLV_PATH_MAX], struct clv_icd_loader *ret);

/* The same of a file; false: it cannot be read. */
bool clv_loader_read(const char *path, struct clv_icd_loader *ret);

/* What is to be installed where a loader takes no layers. */
#define CLV_LOADER_REMEDY                                                       \
	"an OpenCL loader with layers (ocl-icd-libopencl1 2.2.14 or later, or " \
	"Khronos' v2020.12.18 or later)"
