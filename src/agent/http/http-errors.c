/* SPDX-License-Identifier: Apache-2.0 */
/* The answers that libmicrohttpd makes itself, to requests that it cannot parse: pages of
 * HTML, for which it has no option.  It queues them by its own public function, through
 * the table of dynamic symbols, so the function here takes the place of that one. */
#include "agent/http/http-internal.h"

#include "agent/http/problem.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef enum MHD_Result (*queue_fn)(struct MHD_Connection *connection,
	unsigned int status, struct MHD_Response *response);

static const struct {
	unsigned int status;
	int code;
	const char *why;
} errors[] = {
	{MHD_HTTP_BAD_REQUEST, -EINVAL,
		"the request is not HTTP as RFC 9112 describes it: see docs/api.md"},
	{MHD_HTTP_CONTENT_TOO_LARGE, -EMSGSIZE,
		"the request is too large: a request needs far less"},
	{MHD_HTTP_URI_TOO_LONG, -CLV_E_LONG_TARGET,
		"the target of the request is too long: shorten its query"},
	{MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, -CLV_E_LARGE_HEADER,
		"the header of the request is too large: send fewer and shorter headers"},
	{MHD_HTTP_HTTP_VERSION_NOT_SUPPORTED, -CLV_E_VERSION,
		"this version of HTTP is not supported: use HTTP/1.1"},
};

enum MHD_Result clv_http_queue(struct MHD_Connection *connection, unsigned int status,
	struct MHD_Response *response)
{
	queue_fn queue = (queue_fn)dlsym(RTLD_NEXT, "MHD_queue_response");

	return queue ? queue(connection, status, response) : MHD_NO;
}

static struct MHD_Response *make_problem(int code, const char *why)
{
	struct clv_error err = {0};
	struct MHD_Response *response;
	unsigned int status;
	json_t *json;
	char *text;

	clv_error_set(&err, code, "%s", why);
	json = clv_problem_to_json(&err, &status);
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	response = text ? MHD_create_response_from_buffer(
				  strlen(text), text, MHD_RESPMEM_MUST_FREE)
			: NULL;
	if (response)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
			"application/problem+json");
	if (response)
		MHD_add_response_header(
			response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	return response;
}

/* libmicrohttpd 0.9 sends the header of this answer twice. */
static bool has_bad_length(struct MHD_Connection *connection)
{
	const char *length = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return length != NULL;
}

/* Called by libmicrohttpd alone.  MHD_NO: it closes the connection without an answer. */
__attribute__((visibility("default"))) enum MHD_Result MHD_queue_response(
	struct MHD_Connection *connection, unsigned int status,
	struct MHD_Response *response)
{
	struct MHD_Response *problem = NULL;
	enum MHD_Result result;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(errors); i++) {
		if (errors[i].status == status && !has_bad_length(connection))
			problem = make_problem(errors[i].code, errors[i].why);
	}
	if (!problem)
		return MHD_NO;
	result = clv_http_queue(connection, status, problem);
	MHD_destroy_response(problem);
	return result;
}
