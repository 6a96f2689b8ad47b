/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Translates thread ids of a process in another PID namespace into ids of the agent's
 * namespace.  False: not all threads were found. */
bool clv_numbering_of_threads(pid_t pid, const int32_t *tids, uint32_t n, int32_t *ret);
