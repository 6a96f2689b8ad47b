/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The threads of a process of another PID namespace, as this one numbers them, in ret.
 * False: not all of them are there. */
bool clv_numbering_of_threads(pid_t pid, const int32_t *tids, uint32_t n, int32_t *ret);
