/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_error;

/* An OCI createContainer hook (opencontainers/runtime-spec, config.md, "Hooks").  It runs
 * in the container's mount namespace, before pivot_root and before the first program.
 *
 * It mounts a folder whose only entry is the gate over the container's folder of OpenCL
 * vendors, and makes the original folder visible to the gate only, so that the share is
 * enforced independent of the program's environment.  An image that cannot load the gates
 * is refused, because its programs would run without any limit.  An image is also refused
 * if its OpenCL loader supports no layers and bypasses that folder: because of a
 * variable, or, where the lease has no API but OpenCL, because the loader reads another
 * folder.
 *
 * state: the container's state, which the runtime passes on standard input.  The tenant
 * controls the image, so its symbolic links are resolved inside it. */
int clv_cdi_hook(const char *state, size_t n_bytes, struct clv_error *err);

/* The highest N of the strings "GLIBC_2.N" in a library; -1: none.  For the gate this is
 * the version that it requires, for libc.so.6 the version that it provides. */
int clv_cdi_glibc_of(int fd);
