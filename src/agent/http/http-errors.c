/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the answers that libmicrohttpd makes itself, to requests that it cannot parse:
 * pages of HTML, which no option changes.  libmicrohttpd queues them by its own public
 * function, through the table of dynamic symbols, so the function here is called in its
 * place. */
#include "agent/http/http-internal.h"

#include "agent/http/problem.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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

/* To be freed; NULL: out of memory. */
static char *write_problem(int code, const char *why)
{
	struct clv_error err = {0};
	unsigned int status;
	json_t *json;
	char *text;

	clv_error_set(&err, code, "%s", why);
	json = clv_problem_to_json(&err, &status);
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

static struct MHD_Response *make_problem(int code, const char *why)
{
	char *text = write_problem(code, why);
	struct MHD_Response *response =
		text ? MHD_create_response_from_buffer(
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

/* Written to the socket directly: libmicrohttpd has sent all earlier answers and closes
 * the connection now. */
static void send_problem(
	struct MHD_Connection *connection, unsigned int status, int code, const char *why)
{
	const union MHD_ConnectionInfo *info;
	_cleanup_free_ char *body = write_problem(code, why), *text = NULL;
	int n = body ? asprintf(&text,
			       "HTTP/1.1 %u %s\r\nConnection: close\r\n"
			       "Content-Type: application/problem+json\r\n"
			       "Cache-Control: no-store\r\nContent-Length: %zu\r\n\r\n%s",
			       status, MHD_get_reason_phrase_for(status), strlen(body),
			       body)
		     : -1;

	if (n < 0)
		return;
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	if (info) {
		(void)gnutls_record_send(info->tls_session, text, (size_t)n);
		return;
	}
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		(void)send(
			info->connect_fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Called by libmicrohttpd alone.  MHD_NO: it closes the connection. */
__attribute__((visibility("default"))) enum MHD_Result MHD_queue_response(
	struct MHD_Connection *connection, unsigned int status,
	struct MHD_Response *response)
{
	struct MHD_Response *problem;
	enum MHD_Result result;
	size_t i = 0;

	while (i < CLV_ARRAY_SIZE(errors) && errors[i].status != status)
		i++;
	if (i == CLV_ARRAY_SIZE(errors))
		return MHD_NO;
	if (has_bad_length(connection)) {
		send_problem(connection, status, errors[i].code, errors[i].why);
		return MHD_NO;
	}
	problem = make_problem(errors[i].code, errors[i].why);
	if (!problem)
		return MHD_NO;
	result = clv_http_queue(connection, status, problem);
	MHD_destroy_response(problem);
	return result;
}
