/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_error;

/* Replaces the file by one with this text: whenever the process dies, or the machine, the
 * file is the one before or the one after.  Returns 0 or a negative errno. */
int clv_file_replace(const char *path, const char *text, struct clv_error *err);

/* All of a file of at most so many bytes, with a NUL behind it; to be freed.  ret_bytes
 * may be NULL.  -EFBIG, or the errno of opening or reading it. */
int clv_file_read_all(const char *path, size_t most_bytes, char **ret, size_t *ret_bytes,
	struct clv_error *err);

/* A lock file beside it ("PATH.lock"), waited for; the descriptor holds it. */
int clv_file_lock(const char *path, int *ret_fd, struct clv_error *err);
