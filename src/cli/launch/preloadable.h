/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;

/* Checks whether LD_PRELOAD loads a gate into the program, or into the interpreter that
 * runs it.  Returns 0 if it does, or if the kernel will refuse the program with a better
 * error; else -EPERM with the reason in *err, as "'/bin/x' is ...".
 *
 * Called by the process that becomes the program: the rights that a set-user-ID program
 * gains depend on the user namespace. */
int clv_preloadable_check(const char *path, struct clv_error *err);

/* The same for a gate that the OpenCL loader opens.  Only programs for musl are refused:
 * a loader for musl cannot open the gate, and a program without a loader needs none. */
int clv_preloadable_check_loaded(const char *path, struct clv_error *err);
