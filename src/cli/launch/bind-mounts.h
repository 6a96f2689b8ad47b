/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/paths.h"

#include <stddef.h>

struct clv_error;

#define CLV_BIND_MOUNTS_MAX 16

/* A driver's library, and the shim that is mounted over it in a lease's mount namespace
 * (cli/launch/shim.h).  The library itself is mounted beside the gate, where only the
 * gate looks for it. */
struct clv_bind_mounts {
	char original[CLV_PATH_MAX]; /* what a program would load; "": it has none */
	char real[CLV_PATH_MAX];     /* where that is going to be */
	char shim[CLV_PATH_MAX];
	char *copies[CLV_BIND_MOUNTS_MAX]; /* where programs look for it */
	size_t n_copies;
};

/* Finds the files of the library and creates none. */
void clv_bind_mounts_find(const char *soname, struct clv_bind_mounts *ret);

/* Finds the library as the caller's programs would and creates the shim and the file to
 * mount the library on, which is in real_folder, in the lease's folder. */
int clv_bind_mounts_prepare(const char *folder, const char *real_folder,
	const char *soname, const char *gate, struct clv_bind_mounts *ret,
	struct clv_error *err);

/* Frees what was found; the files stay. */
void clv_bind_mounts_done(struct clv_bind_mounts *mounts);
