/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;

/* Whether LD_PRELOAD would put a gate into the program, or into the interpreter that runs
 * it.  Returns 0 when it would, or when the kernel is going to refuse the program anyway
 * and says why better; -EPERM and what stands in the way, as "'/bin/x' is ...".
 *
 * For the process that is about to become the program: which rights a set-user-ID program
 * gains depends on its user namespace. */
int clv_preloadable_check(const char *path, struct clv_error *err);

/* The same for a gate that OpenCL's loader opens: whatever has no such loader needs no
 * gate, and one for another C library cannot open it. */
int clv_preloadable_check_loaded(const char *path, struct clv_error *err);
