/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* Attributes of sysfs.  A path is a format, relative to clv_backend_sysfs().  Functions
 * return 0 or more, or a negative errno, which is the driver's own and so tells why it
 * refused. */

/* The most bytes of one attribute, a page, and the final NUL. */
#define CLV_FILE_TEXT_MAX 4097

/* Stores the text without trailing blanks and returns its length.  -EFBIG: the text does
 * not fit. */
int clv_file_read(char *ret, size_t ret_bytes, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

/* Reads a file that holds one number, decimal or with 0x.  -EINVAL: no such number. */
int clv_file_read_number(uint64_t *ret, const char *path, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes the text with one write(), as sysfs requires. */
int clv_file_write(const char *text, const char *path, ...)
	__attribute__((format(printf, 2, 3)));

/* A link's target. */
int clv_file_target(char *ret, size_t ret_bytes, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

/* The last component of a link's target: the name of a driver or of an IOMMU group. */
int clv_file_link(char *ret, size_t ret_bytes, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

bool clv_file_exists(const char *path, ...) __attribute__((format(printf, 1, 2)));
bool clv_file_is_writable(const char *path, ...) __attribute__((format(printf, 1, 2)));

#define CLV_FILE_NAME_MAX 64

struct clv_names {
	char (*items)[CLV_FILE_NAME_MAX]; /* owned */
	size_t n;
};

/* Lists a folder, sorted by length and then by name (gt2 before gt10), without names that
 * begin with a dot. */
int clv_file_list(struct clv_names *ret, const char *path, ...)
	__attribute__((format(printf, 2, 3)));
void clv_names_clear(struct clv_names *names);
#define _cleanup_names_ CLV_CLEANUP(clv_names_clear)

/* -ENOMEM */
int clv_names_add(struct clv_names *names, const char *name);

/* Sets err to "what: why" for an errno of a driver, and returns the code of
 * clv_backend_ops for it: -EPERM, -ENODEV, -ENOSPC, -ENOTSUP, -EBUSY, -ETIMEDOUT, -EINVAL
 * or -EIO. */
int clv_file_error(struct clv_error *err, int errnum, const char *what, ...)
	__attribute__((format(printf, 3, 4)));
