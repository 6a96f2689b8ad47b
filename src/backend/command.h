/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Runs a program to its end, with no shell; argv ends with NULL and its first is a path
 * or is looked for in PATH.  Returns its exit status (128 + n when signal n ended it), or
 * a negative errno when it could not be started.  said: the last line of what it wrote,
 * "" if nothing. */
int clv_command_run(const char *const *argv, char *ret_said, size_t said_bytes);
