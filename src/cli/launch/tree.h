/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/* Sends the signal to all descendants of the process, but not to the process itself, and
 * not to these two children of it with their descendants (0: none).  Returns the number
 * of descendants found; a signal number of 0 only counts.  Processes that are created
 * meanwhile may be missed: call it again until it returns 0. */
unsigned int clv_tree_signal(pid_t root, const pid_t without[2], int number);
