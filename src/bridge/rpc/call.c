/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a server: receives the request, calls the method's handler, and sends the
 * answer and the status. */
#include "bridge/rpc/call.h"

#include "base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTENT_TYPE "application/grpc"

struct clv_rpc_call *clv_rpc_call_new(
	struct clv_rpc_connection *connection, int32_t stream)
{
	struct clv_rpc_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->connection = connection;
	call->stream = stream;
	call->reader.most_bytes = CLV_RPC_REQUEST_MAX_BYTES;
	call->next = connection->calls;
	if (call->next)
		call->next->previous = call;
	connection->calls = call;
	return call;
}

static void forget_request(struct clv_rpc_call *call)
{
	assert(call->connection->n_request_bytes >= call->reader.room);
	call->connection->n_request_bytes -= call->reader.room;
	clv_rpc_reader_clear(&call->reader);
}

void clv_rpc_call_free(struct clv_rpc_call *call)
{
	assert(!call->next || call->next->previous == call);
	if (call->next)
		call->next->previous = call->previous;
	if (call->previous)
		call->previous->next = call->next;
	else
		call->connection->calls = call->next;
	forget_request(call);
	sd_event_source_disable_unref(call->deadline);
	free(call->now.data);
	free(call->next_body.data);
	free(call);
}

void clv_rpc_call_end(struct clv_rpc_call *call)
{
	void (*on_end)(void *userdata) = call->on_end;

	call->on_end = NULL;
	if (on_end && !call->is_done)
		on_end(call->userdata);
	call->is_done = true;
}

/* --- The answer --- */

static int send_trailers(struct clv_rpc_call *call)
{
	char code[16], message[CLV_RPC_ESCAPED_MAX];
	nghttp2_nv trailers[2];

	snprintf(code, sizeof(code), "%d", call->status.code);
	clv_rpc_escape(call->status.message, message);
	trailers[0] = clv_rpc_header("grpc-status", code);
	trailers[1] = clv_rpc_header("grpc-message", message);
	return nghttp2_submit_trailer(call->connection->link.session, call->stream,
		trailers, message[0] != '\0' ? 2 : 1);
}

static bool begin_next(struct clv_rpc_call *call)
{
	free(call->now.data);
	call->now = call->next_body;
	call->next_body = (struct clv_rpc_body){};
	call->n_sent = 0;
	return call->now.data != NULL;
}

static ssize_t read_answer(nghttp2_session *session, int32_t stream, uint8_t *buffer,
	size_t room, uint32_t *flags, nghttp2_data_source *source, void *userdata)
{
	struct clv_rpc_call *call = source->ptr;
	size_t n;

	if (call->n_sent == call->now.n_bytes && !begin_next(call)) {
		if (!call->is_done)
			return NGHTTP2_ERR_DEFERRED;
		*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (send_trailers(call) < 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
		return 0;
	}
	n = call->now.n_bytes - call->n_sent;
	n = n < room ? n : room;
	memcpy(buffer, call->now.data + call->n_sent, n);
	call->n_sent += n;
	return (ssize_t)n;
}

static void begin_answer(struct clv_rpc_call *call)
{
	nghttp2_session *session = call->connection->link.session;
	nghttp2_data_provider provider = {
		.source.ptr = call, .read_callback = read_answer};
	nghttp2_nv headers[] = {
		clv_rpc_header(":status", "200"),
		clv_rpc_header("content-type", CONTENT_TYPE),
	};

	if (call->has_headers)
		nghttp2_session_resume_data(session, call->stream);
	else
		nghttp2_submit_response(session, call->stream, headers,
			CLV_ARRAY_SIZE(headers), &provider);
	call->has_headers = true;
	clv_rpc_link_flush(&call->connection->link);
}

/* An answer without a message: the headers have the status (gRPC's "Trailers-Only"). */
static void answer_bare(struct clv_rpc_call *call)
{
	char code[16], message[CLV_RPC_ESCAPED_MAX];
	nghttp2_nv headers[4];

	snprintf(code, sizeof(code), "%d", call->status.code);
	clv_rpc_escape(call->status.message, message);
	headers[0] = clv_rpc_header(":status", "200");
	headers[1] = clv_rpc_header("content-type", CONTENT_TYPE);
	headers[2] = clv_rpc_header("grpc-status", code);
	headers[3] = clv_rpc_header("grpc-message", message);
	nghttp2_submit_response(call->connection->link.session, call->stream, headers,
		message[0] != '\0' ? 4 : 3, NULL);
	call->has_headers = true;
	clv_rpc_link_flush(&call->connection->link);
}

int clv_rpc_send(struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes)
{
	struct clv_rpc_body body = {
		malloc(CLV_RPC_PREFIX_BYTES + n_bytes), CLV_RPC_PREFIX_BYTES + n_bytes};

	if (!body.data)
		return -ENOMEM;
	clv_rpc_write_prefix(n_bytes, body.data);
	if (n_bytes > 0)
		memcpy(body.data + CLV_RPC_PREFIX_BYTES, data, n_bytes);
	free(call->next_body.data);
	call->next_body = body;
	begin_answer(call);
	return 0;
}

void clv_rpc_finish(struct clv_rpc_call *call, const struct clv_rpc_status *status)
{
	call->status = *status;
	call->on_end = NULL;
	call->is_done = true;
	call->deadline = sd_event_source_disable_unref(call->deadline);
	if (call->has_headers || call->next_body.data)
		begin_answer(call);
	else
		answer_bare(call);
}

void clv_rpc_answer(struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes)
{
	static const struct clv_rpc_status ok;

	if (clv_rpc_send(call, data, n_bytes) < 0)
		clv_rpc_fail(call, CLV_RPC_RESOURCE_EXHAUSTED, "out of memory");
	else
		clv_rpc_finish(call, &ok);
}

void clv_rpc_fail(
	struct clv_rpc_call *call, enum clv_rpc_code code, const char *format, ...)
{
	struct clv_rpc_status status = {.code = code};
	va_list args;

	va_start(args, format);
	vsnprintf(status.message, sizeof(status.message), format, args);
	va_end(args);
	clv_rpc_finish(call, &status);
}

void clv_rpc_on_end(
	struct clv_rpc_call *call, void (*on_end)(void *userdata), void *userdata)
{
	call->on_end = on_end;
	call->userdata = userdata;
}

/* --- The request --- */

static const struct clv_rpc_method *find_method(
	const struct clv_rpc_call *call, const uint8_t *path, size_t n_bytes)
{
	const struct clv_rpc_service *service = call->connection->service;

	for (size_t i = 0; i < service->n_methods; i++) {
		if (clv_rpc_is_header(path, n_bytes, service->methods[i].path))
			return &service->methods[i];
	}
	return NULL;
}

void clv_rpc_call_on_header(struct clv_rpc_call *call, const uint8_t *name, size_t n_name,
	const uint8_t *value, size_t n_value)
{
	size_t n_type = strlen(CONTENT_TYPE);

	if (clv_rpc_is_header(name, n_name, ":path"))
		call->method = find_method(call, value, n_value);
	else if (clv_rpc_is_header(name, n_name, ":method"))
		call->is_post = clv_rpc_is_header(value, n_value, "POST");
	else if (clv_rpc_is_header(name, n_name, "content-type"))
		call->is_grpc = n_value >= n_type &&
				memcmp(value, CONTENT_TYPE, n_type) == 0 &&
				(n_value == n_type || strchr("+;", value[n_type]));
	else if (clv_rpc_is_header(name, n_name, "grpc-timeout"))
		call->is_unfit = clv_rpc_parse_timeout((const char *)value, n_value,
					 &call->timeout_ns) < 0;
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct clv_rpc_call *call = userdata;

	clv_rpc_call_end(call);
	clv_rpc_fail(call, CLV_RPC_DEADLINE_EXCEEDED, "the deadline has passed");
	return 0;
}

static void answer_not_grpc(struct clv_rpc_call *call)
{
	nghttp2_nv headers[] = {clv_rpc_header(":status", "415")};

	call->is_done = call->has_headers = true;
	nghttp2_submit_response(
		call->connection->link.session, call->stream, headers, 1, NULL);
}

void clv_rpc_call_on_headers_end(struct clv_rpc_call *call)
{
	uint64_t timeout_us = call->timeout_ns / 1000;

	if (!call->is_post || !call->is_grpc)
		answer_not_grpc(call);
	else if (!call->method)
		clv_rpc_fail(call, CLV_RPC_UNIMPLEMENTED, "there is no such method");
	else if (call->is_unfit)
		clv_rpc_fail(call, CLV_RPC_INVALID_ARGUMENT, "grpc-timeout is malformed");
	else if (call->timeout_ns > 0)
		sd_event_add_time_relative(call->connection->event, &call->deadline,
			CLOCK_MONOTONIC, timeout_us, 1, on_deadline, call);
}

static void fail_request(struct clv_rpc_call *call, int r)
{
	forget_request(call);
	if (r == -EOPNOTSUPP)
		clv_rpc_fail(call, CLV_RPC_UNIMPLEMENTED,
			"compressed messages are not supported");
	else if (r == -EMSGSIZE)
		clv_rpc_fail(call, CLV_RPC_RESOURCE_EXHAUSTED,
			"a request may have at most %u bytes", CLV_RPC_REQUEST_MAX_BYTES);
	else if (r == -EINVAL)
		clv_rpc_fail(call, CLV_RPC_INTERNAL, "a call must have one request");
	else
		clv_rpc_fail(call, CLV_RPC_RESOURCE_EXHAUSTED,
			"too many incomplete requests on this connection");
}

/* Data behind a complete message would be a second request, which is an error. */
void clv_rpc_call_on_data(struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes)
{
	struct clv_rpc_connection *connection = call->connection;
	size_t room = call->reader.room, n_taken = 0;
	int r;

	if (call->is_done || call->is_handled || n_bytes == 0)
		return;
	if (call->reader.n_prefix == 0 && call->reader.data)
		r = -EINVAL;
	else
		r = clv_rpc_reader_take(&call->reader, data, n_bytes, &n_taken);
	connection->n_request_bytes += call->reader.room - room;
	if (r > 0 && n_taken < n_bytes)
		r = -EINVAL;
	if (r >= 0 && connection->n_request_bytes > CLV_RPC_REQUESTS_MAX_BYTES)
		r = -ENOMEM;
	if (r < 0)
		fail_request(call, r);
}

void clv_rpc_call_on_end(struct clv_rpc_call *call)
{
	struct clv_rpc_reader reader = call->reader;
	const struct clv_rpc_service *service = call->connection->service;

	if (call->is_done || call->is_handled)
		return;
	if (!reader.data || clv_rpc_reader_is_inside(&reader)) {
		clv_rpc_fail(call, CLV_RPC_INTERNAL, "the request is not complete");
		return;
	}
	/* The request is owned here until the handler returns, which may free the call.
	 */
	call->is_handled = true;
	call->connection->n_request_bytes -= reader.room;
	call->reader = (struct clv_rpc_reader){};
	call->method->handle(call, reader.data, reader.length, service->userdata);
	clv_rpc_reader_clear(&reader);
}
