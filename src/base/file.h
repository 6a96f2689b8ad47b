/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;

/* Replaces the file by one with this text: whenever the process dies, or the machine, the
 * file is the one before or the one after.  Returns 0 or a negative errno. */
int clv_file_replace(const char *path, const char *text, struct clv_error *err);

/* A lock file beside it ("PATH.lock"), waited for; the descriptor holds it. */
int clv_file_lock(const char *path, int *ret_fd, struct clv_error *err);
