/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* The small files of sysfs, each named by a format, from clv_backend_sysfs() down.
 * Results are 0 or more, or a negative errno: the driver's own, since it is what says why
 * it refused. */

/* What one attribute holds at most: a page. */
#define CLV_FILE_TEXT_MAX 4097

/* Stores the text without the blanks at its end and returns its length.  -EFBIG: it does
 * not fit. */
int clv_file_read(char *ret, size_t ret_bytes, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

/* A number alone in its file, decimal or with 0x.  -EINVAL: it is something else. */
int clv_file_read_number(uint64_t *ret, const char *path, ...)
	__attribute__((format(printf, 2, 3)));

/* One write of all the text, as drivers want it. */
int clv_file_write(const char *text, const char *path, ...)
	__attribute__((format(printf, 2, 3)));

/* The last part of what a link points to: the name of a driver, of a group. */
int clv_file_link(char *ret, size_t ret_bytes, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

bool clv_file_exists(const char *path, ...) __attribute__((format(printf, 1, 2)));
bool clv_file_is_writable(const char *path, ...) __attribute__((format(printf, 1, 2)));

#define CLV_FILE_NAME_MAX 64

struct clv_names {
	char (*items)[CLV_FILE_NAME_MAX]; /* owned */
	size_t n;
};

/* What is in a folder, sorted as people count (gt2 before gt10), without what begins with
 * a dot. */
int clv_file_list(struct clv_names *ret, const char *path, ...)
	__attribute__((format(printf, 2, 3)));
void clv_names_clear(struct clv_names *names);
#define _cleanup_names_ CLV_CLEANUP(clv_names_clear)

/* -ENOMEM */
int clv_names_add(struct clv_names *names, const char *name);

/* Sets "what: why" for an errno of a driver, and returns what the vtable promises for it:
 * -EPERM, -ENODEV, -ENOSPC, -ENOTSUP, -EBUSY, -ETIMEDOUT, -EINVAL or -EIO. */
int clv_file_error(struct clv_error *err, int errnum, const char *what, ...)
	__attribute__((format(printf, 3, 4)));
