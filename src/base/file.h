/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clv_error;

/* Replaces the content of a file atomically and durably: after a crash of the process or
 * the machine the file has the old or the new content.  Concurrent writers must exclude
 * each other (clv_file_lock()).  Returns 0 or a negative errno. */
int clv_file_replace(const char *path, const char *text, struct clv_error *err);
/* The same without a wait for the disk: after a crash of the machine the file may have
 * any content. */
int clv_file_replace_unsynced(const char *path, const char *text, struct clv_error *err);

/* Reads a whole file of at most most_bytes bytes and appends a NUL; the caller frees
 * *ret.  ret_bytes may be NULL.  Returns 0, -EFBIG if the file is larger, or the negative
 * errno of opening or reading it. */
int clv_file_read_all(const char *path, size_t most_bytes, char **ret, size_t *ret_bytes,
	struct clv_error *err);

/* The same for a file that someone else may have put there: what is not a regular file is
 * refused with -EINVAL, and nothing waits for the other end of a FIFO. */
int clv_file_read_regular(const char *path, size_t most_bytes, char **ret,
	size_t *ret_bytes, struct clv_error *err);

/* Whether the file can be a secret: -EPERM if every user can read or write it. */
int clv_file_check_secret(const char *path, struct clv_error *err);

/* Whether only root, this user and a group can change the file: -EPERM if it is another
 * user's, or every user can change or replace it where it is mounted. */
int clv_file_check_writers(const char *path, struct clv_error *err);

/* Takes an exclusive lock on the file "PATH.lock", which is created if necessary, and
 * waits until it is free.  Closing *ret_fd releases the lock. */
int clv_file_lock(const char *path, int *ret_fd, struct clv_error *err);
/* The same without the wait: -EAGAIN if another holds it. */
int clv_file_try_lock(const char *path, int *ret_fd, struct clv_error *err);
/* Whether someone holds that lock; false if the caller may not know. */
bool clv_file_is_locked(const char *path);
