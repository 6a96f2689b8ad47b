/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: JSON, texts, files, problem documents, and streams, which are answers that do
 * not end. */
#include "agent/http/http-internal.h"

#include "agent/config/config.h"
#include "agent/http/problem.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_BLOCK_BYTES 16384u

static ssize_t read_stream(void *userdata, uint64_t position, char *room, size_t n_bytes)
{
	struct clv_exchange *exchange = userdata;
	struct clv_request *request = &exchange->request;
	uint64_t began_ns = clv_clock_ns();
	size_t n;

	if (exchange->is_suspended)
		return 0;
	if (exchange->is_gone || clv_http_is_stopping(exchange->http) ||
		clv_http_check_caller(request, NULL) < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	request->is_late = exchange->deadline_ns > 0 && exchange->deadline_ns <= began_ns;
	exchange->deadline_ns = 0;
	n = request->stream(request, room, n_bytes);
	clv_exchange_charge(exchange, began_ns);
	if (n == 0)
		clv_exchange_suspend(exchange);
	return (ssize_t)n;
}

static struct MHD_Response *make_json(struct clv_request *request)
{
	char *text = json_dumps(request->answer, CLV_ANSWER_FLAGS);

	return text ? MHD_create_response_from_buffer(
			      strlen(text), text, MHD_RESPMEM_MUST_FREE)
		    : NULL;
}

static struct MHD_Response *make_response(struct clv_exchange *exchange)
{
	struct clv_request *request = &exchange->request;
	char *text = request->text;

	request->text = NULL;
	if (request->stream)
		return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN,
			STREAM_BLOCK_BYTES, read_stream, exchange, NULL);
	if (text)
		return MHD_create_response_from_buffer(
			request->n_bytes, text, MHD_RESPMEM_MUST_FREE);
	if (request->file)
		return MHD_create_response_from_buffer(
			request->n_bytes, (void *)request->file, MHD_RESPMEM_PERSISTENT);
	if (request->answer)
		return make_json(request);
	return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
}

/* CORS: consoles of other nodes may call if the settings list their origins. */
static void allow_origin(const struct clv_request *request, struct MHD_Response *response)
{
	const struct clv_config *config = request->agent->settings;
	const char *origin = clv_request_header(request, MHD_HTTP_HEADER_ORIGIN);

	if (config->n_origins > 0)
		MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Origin");
	for (size_t i = 0; origin && i < config->n_origins; i++) {
		if (strcmp(config->origins[i], origin) != 0)
			continue;
		MHD_add_response_header(
			response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, origin);
		MHD_add_response_header(response,
			MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_HEADERS,
			"authorization, content-type, if-match, idempotency-key, "
			"last-event-id");
		MHD_add_response_header(response,
			MHD_HTTP_HEADER_ACCESS_CONTROL_EXPOSE_HEADERS,
			"ETag, Idempotency-Replayed");
		MHD_add_response_header(response,
			MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_METHODS,
			"GET, POST, PUT, PATCH, DELETE");
	}
}

/* The headers of every answer, unless the handler has set them. */
static const struct {
	const char *name, *value;
} default_headers[] = {
	{MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
	{"X-Content-Type-Options", "nosniff"},
};

static bool has_header(const struct clv_request *request, const char *name)
{
	for (size_t i = 0; i < request->n_headers; i++) {
		if (strcmp(request->headers[i].name, name) == 0)
			return true;
	}
	return false;
}

static void add_headers(
	struct clv_request *request, const char *type, struct MHD_Response *response)
{
	if (type)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	for (size_t i = 0; i < request->n_headers; i++)
		MHD_add_response_header(
			response, request->headers[i].name, request->headers[i].value);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(default_headers); i++) {
		if (!has_header(request, default_headers[i].name))
			MHD_add_response_header(response, default_headers[i].name,
				default_headers[i].value);
	}
	allow_origin(request, response);
}

static enum MHD_Result queue(struct clv_exchange *exchange, const char *type)
{
	struct clv_request *request = &exchange->request;
	struct MHD_Response *response = make_response(exchange);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	add_headers(request, type, response);
	result = clv_http_queue(request->connection, request->status, response);
	MHD_destroy_response(response);
	return result;
}

enum MHD_Result clv_exchange_answer(struct clv_exchange *exchange)
{
	const struct clv_request *request = &exchange->request;

	if (request->answer)
		return queue(exchange, "application/json");
	return queue(exchange, request->content_type);
}

enum MHD_Result clv_exchange_refuse(
	struct clv_exchange *exchange, const struct clv_error *err)
{
	struct clv_request *request = &exchange->request;

	json_decref(request->answer);
	free(request->text);
	request->text = NULL;
	request->file = NULL;
	request->stream = NULL;
	request->answer = clv_problem_to_json(err, &request->status);
	if (request->status == MHD_HTTP_UNAUTHORIZED)
		clv_request_set_header(
			request, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	return queue(exchange, "application/problem+json");
}
