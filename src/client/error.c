/* SPDX-License-Identifier: Apache-2.0 */
/* Makes errors from problem documents, by one table from the API's codes to errno.  The
 * agent's text is passed on, since only the agent knows what would work. */
#include "client/error.h"

#include "base/cleanup.h"

#include <cleave.h>
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *code;
	int error;
} problems[] = {
	/* clang-format off */
	{ "bad_request",    -EINVAL },
	{ "bad_layout",     -EINVAL },
	{ "not_permitted",  -EPERM },
	{ "not_found",      -ENOENT },
	{ "no_such_path",   -ENOSYS },
	{ "no_such_device", -ENODEV },
	{ "name_in_use",    -EEXIST },
	{ "in_use",         -EBUSY },
	{ "does_not_fit",   -EAGAIN },
	{ "ended",          -ECANCELED },
	{ "unavailable",    -EAGAIN },
	{ "too_large",      -ERANGE },
	{ "disk_full",      -ENOSPC },
	{ "internal",       -EIO },
	/* clang-format on */
};

int clv_client_fail(struct clv_client_error *err, int error, const char *code,
	const char *format, ...)
{
	va_list args;

	if (!err)
		return error;

	memset(err, 0, sizeof(*err));
	err->error = error;
	snprintf(err->code, sizeof(err->code), "%s", code);
	va_start(args, format);
	vsnprintf(err->msg, sizeof(err->msg), format, args);
	va_end(args);
	return error;
}

/* Replaces control characters, so that a message is one line. */
static void flatten(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = ' ';
	}
}

int clv_client_fail_problem(
	struct clv_client_error *err, long http_status, const char *body)
{
	json_t *problem = json_loads(body, 0, NULL);
	const char *code = json_string_value(json_object_get(problem, "code"));
	const char *detail = json_string_value(json_object_get(problem, "detail"));
	int error = -EIO;

	for (size_t i = 0; code && i < CLV_ARRAY_SIZE(problems); i++) {
		if (strcmp(problems[i].code, code) == 0)
			error = problems[i].error;
	}
	if (code && detail)
		clv_client_fail(err, error, code, "%s", detail);
	else
		clv_client_fail(err, error, "bad_reply",
			"the agent answered with status %ld and no reason: see its log",
			http_status);
	if (err) {
		err->status = (int)http_status;
		flatten(err->msg);
	}
	json_decref(problem);
	return error;
}
