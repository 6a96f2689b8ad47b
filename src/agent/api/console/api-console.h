/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of the web console, without HTTP. */
#pragma once

#include <stddef.h>

struct clv_console_file;
struct clv_error;

#define CLV_CONSOLE_HEADERS_MAX 12
#define CLV_CONSOLE_POLICY_MAX 2048

/* A request to the console.  It needs no caller's identity: the files are the same for
 * all callers and have no data. */
struct clv_console_request {
	const char *method;
	const char *path;          /* "/", "/console" or below; without the query */
	const char *if_none_match; /* NULL: not sent */
	const char
		*connect; /* origins of other agents, separated by blanks; NULL: none */
};

struct clv_console_header {
	const char *name;
	const char *value;
};

/* Header names and values are static, the file's, or point into policy, so an answer must
 * not be copied.  The body is static; an answer to HEAD has one too, for its length. */
struct clv_console_answer {
	unsigned int status;
	struct clv_console_header headers[CLV_CONSOLE_HEADERS_MAX];
	size_t n_headers;
	const void *body;
	size_t n_bytes;
	char policy[CLV_CONSOLE_POLICY_MAX];
};

/* Finds the file in the table (clv_console_files, or a test's) and fills in *ret, which
 * may be a 304 or 308.  Returns 0, -ENOENT (no such file, or no console in this cleaved),
 * -CLV_E_METHOD, or -EINVAL for origins with characters that a header must not have. */
int clv_console_answer(const struct clv_console_file *files, size_t n_files,
	const struct clv_console_request *request, struct clv_console_answer *ret,
	struct clv_error *err);
