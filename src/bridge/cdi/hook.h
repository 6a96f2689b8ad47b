/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_error;

/* What is done in a container before its first program starts, as OCI's createContainer
 * hook (opencontainers/runtime-spec, config.md, "Hooks": in the container's mount
 * namespace, before its root is entered).
 *
 * The container's folder of OpenCL vendors gets one entry, the gate, and what was there
 * is for the gate alone, so that programs are held whatever their environment says.  An
 * image in which the gates cannot be loaded is refused: its programs would be held by
 * nothing.  So is one whose OpenCL loader takes no layers and is led past that folder, by
 * a variable or, where the lease has no other API than OpenCL, by itself.
 *
 * state: the container's state, as the runtime gives it on standard input.  The image is
 * the tenant's: none of its links leads out of it. */
int clv_cdi_hook(const char *state, size_t n_bytes, struct clv_error *err);

/* The newest version "GLIBC_2.N" that a library, or the C library itself, speaks of; -1:
 * none.  Used on the gate (what it needs) and on the image's libc.so.6 (what it has). */
int clv_cdi_glibc_of(int fd);
