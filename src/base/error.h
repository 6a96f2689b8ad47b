/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdarg.h>

/* An error message for users.  The caller owns the storage, so that reporting an error
 * never allocates.  `code` equals the negative errno that the failing function returned.
 * On success the struct is not touched; every setter accepts NULL.  Messages are one line
 * without a full stop: what failed, why, and what would work. */
struct clv_error {
	int code;
	char msg[512];
};

/* Each setter stores code (a negative errno) and the message, and returns code. */
int clv_error_set(struct clv_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int clv_error_setv(struct clv_error *err, int code, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

/* Like clv_error_set(), followed by ": " and the text of errnum (a positive errno).
 * Returns -errnum. */
int clv_error_errno(struct clv_error *err, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Prepends "CONTEXT: " to the message.  Returns err->code (0 if err is NULL). */
int clv_error_prefix(struct clv_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
