/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/paths.h"

#include <stddef.h>

struct clv_error;

#define CLV_BIND_MOUNTS_MAX 16

/* A driver's library, and the shim that is mounted over it in a lease's mount namespace
 * (cli/shim/shim.h).  The library itself is mounted beside the gate, where only the
 * gate looks for it. */
struct clv_bind_mounts {
	char original[CLV_PATH_MAX]; /* what a program would load; "": none */
	char real[CLV_PATH_MAX];     /* where the gate finds the library */
	char shim[CLV_PATH_MAX];
	char *copies[CLV_BIND_MOUNTS_MAX]; /* paths where programs find it; owned */
	size_t n_copies;
};

/* Finds the paths of the library; creates no file. */
void clv_bind_mounts_find(const char *soname, struct clv_bind_mounts *ret);

/* Finds the library as the caller's programs would.  Creates in the lease's folder the
 * shim and, in real_folder, the file to mount the library on.  Without a library n_copies
 * is 0 and nothing is created.  0 or -errno. */
int clv_bind_mounts_prepare(const char *folder, const char *real_folder,
	const char *soname, const char *gate, struct clv_bind_mounts *ret,
	struct clv_error *err);

/* Frees the paths; created files stay. */
void clv_bind_mounts_done(struct clv_bind_mounts *mounts);
