/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as the API shows them.  The table is the one in docs/api.md. */
#include "agent/http/problem.h"

#include "agent/os/json-fields.h"
#include "base/cleanup.h"

#include <errno.h>

static const struct clv_problem {
	int code; /* positive errno; 0 ends the table and stands for all others */
	unsigned int status;
	const char *title;
	const char *name;
} problems[] = {
	{EINVAL, 400, "Bad Request", "bad_request"},
	{ERANGE, 400, "Bad Request", "bad_request"},
	{EBADMSG, 400, "Bad Request", "bad_layout"},
	{EACCES, 401, "Unauthorized", "unauthenticated"},
	{EPERM, 403, "Forbidden", "not_permitted"},
	{ENOENT, 404, "Not Found", "not_found"},
	{ENOSYS, 404, "Not Found", "no_such_path"},
	{ENODEV, 404, "Not Found", "no_such_device"},
	{CLV_E_METHOD, 405, "Method Not Allowed", "bad_request"},
	{EEXIST, 409, "Conflict", "name_in_use"},
	{CLV_E_IN_USE, 409, "Conflict", "in_use"},
	{EBUSY, 409, "Conflict", "does_not_fit"},
	{CLV_E_CHANGED, 412, "Precondition Failed", "precondition_failed"},
	{CLV_E_LENGTH, 411, "Length Required", "bad_request"},
	{EMSGSIZE, 413, "Content Too Large", "too_large"},
	{CLV_E_LONG_TARGET, 414, "URI Too Long", "too_large"},
	{CLV_E_LARGE_HEADER, 431, "Request Header Fields Too Large", "too_large"},
	{CLV_E_VERSION, 505, "HTTP Version Not Supported", "bad_request"},
	{ECANCELED, 409, "Conflict", "ended"},
	{CLV_E_UNAVAILABLE, 503, "Service Unavailable", "unavailable"},
	{ENOSPC, 507, "Insufficient Storage", "disk_full"},
	{0, 500, "Internal Server Error", "internal"},
};

static const struct clv_problem *find(int code)
{
	const struct clv_problem *problem = problems;

	while (problem->code != 0 && problem->code != -code)
		problem++;
	return problem;
}

const char *clv_problem_code(int code)
{
	return find(code)->name;
}

json_t *clv_problem_to_json(const struct clv_error *err, unsigned int *ret_status)
{
	const struct clv_problem *problem = find(err->code);
	struct clv_error clean = *err;
	json_t *json;

	/* A message may quote input of a caller: control characters are replaced, so that
	 * it is one line.  clv_json_set_text() replaces a character that was cut at the
	 * end. */
	for (char *p = clean.msg; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	}
	*ret_status = problem->status;
	json = json_pack("{s:s,s:s,s:i,s:s}", "type", "about:blank", "title",
		problem->title, "status", (int)problem->status, "code", problem->name);
	clv_json_set_text(json, "detail", clean.msg);
	return json;
}
