/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/paths.h"
#include "core/device/icd-loader.h"

#include <stdbool.h>

/* Finds the OpenCL loader that a program would load, in the order of the system's loader:
 * RPATH or RUNPATH, the caller's LD_LIBRARY_PATH, the cache and the default folders.  A
 * loader that a script's interpreter or a library opens by its path is not found. program
 * may be NULL.  Returns false if there is none. */
bool clv_loader_find(
	const char *program, char ret_path[CLV_PATH_MAX], struct clv_icd_loader *ret);

/* Identifies the loader in a file; false if the file cannot be read. */
bool clv_loader_read(const char *path, struct clv_icd_loader *ret);

/* What to install if a loader takes no layers. */
#define CLV_LOADER_REMEDY                                                       \
	"an OpenCL loader with layers (ocl-icd-libopencl1 2.2.14 or later, or " \
	"Khronos' v2020.12.18 or later)"
