/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/paths.h"

#include <stddef.h>

struct clv_error;

#define CLV_COVER_COPIES_MAX 16

/* A driver's library, and what takes its place in a lease's mount namespace: a shim that
 * leads to the gate (cli/launch/shim.h).  The library itself is then found by the gate
 * alone, beside which it is mounted. */
struct clv_cover {
	char original[CLV_PATH_MAX]; /* what a program would load; "": it has none */
	char real[CLV_PATH_MAX];     /* where that is going to be */
	char shim[CLV_PATH_MAX];
	char *copies[CLV_COVER_COPIES_MAX]; /* where programs look for it */
	size_t n_copies;
};

/* Finds the library alone. */
void clv_cover_find(const char *soname, struct clv_cover *ret);

/* Finds the library as the caller's programs would and makes the files for it in the
 * lease's folder, where the gate is too; it is going to be in the real_folder of that. */
int clv_cover_prepare(const char *folder, const char *real_folder, const char *soname,
	const char *gate, struct clv_cover *ret, struct clv_error *err);

/* Frees what was found; the files stay. */
void clv_cover_done(struct clv_cover *cover);
