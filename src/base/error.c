/* SPDX-License-Identifier: Apache-2.0 */
/* Setters for struct clv_error.  They only format; whether and where a message is shown
 * is decided by the program's outermost layer. */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

int clv_error_setv(struct clv_error *err, int code, const char *format, va_list args)
{
	if (!err)
		return code;

	err->code = code;
	vsnprintf(err->msg, sizeof(err->msg), format, args);
	return code;
}

int clv_error_set(struct clv_error *err, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	clv_error_setv(err, code, format, args);
	va_end(args);
	return code;
}

int clv_error_errno(struct clv_error *err, int errnum, const char *format, ...)
{
	va_list args;
	size_t used;

	va_start(args, format);
	clv_error_setv(err, -errnum, format, args);
	va_end(args);
	if (!err)
		return -errnum;

	used = strlen(err->msg);
	snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", strerror(errnum));
	return -errnum;
}

int clv_error_prefix(struct clv_error *err, const char *format, ...)
{
	char old[sizeof(err->msg)];
	va_list args;
	size_t used;

	if (!err)
		return 0;

	memcpy(old, err->msg, sizeof(old));
	va_start(args, format);
	vsnprintf(err->msg, sizeof(err->msg), format, args);
	va_end(args);
	used = strlen(err->msg);
	snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", old);
	return err->code;
}
