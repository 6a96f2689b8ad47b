/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Runs a program without a shell and waits for it.  argv ends with NULL; argv[0] is a
 * path or is looked up in PATH.  Returns the exit status (128 + n if signal n ended it),
 * or a negative errno if the program could not be started.  ret_said gets the last line
 * of its output, "" if there is none. */
int clv_command_run(const char *const *argv, char *ret_said, size_t said_bytes);
