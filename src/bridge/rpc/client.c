/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks run from a timer of the event loop and never from inside nghttp2, so that
 * they may free the client. */
#include "bridge/rpc/client.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/socket.h"
#include "bridge/rpc/link.h"
#include "bridge/rpc/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define WINDOW_BYTES (4 << 20)

struct pending {
	struct pending *next;
	struct clv_rpc_client *client;
	int32_t stream;
	uint8_t *request;
	size_t n_request, n_sent;
	struct clv_rpc_reader reader;
	bool has_answer, has_status;
	bool is_complete; /* the result is known, and the timer is about to call back */
	struct clv_rpc_status status;
	sd_event_source *timer; /* the deadline; once is_complete, due at once */
	clv_rpc_on_answer on_answer;
	void *userdata;
};

struct clv_rpc_client {
	sd_event *event;
	struct clv_rpc_link link;
	struct pending *pending;
	bool is_over;
};

static void free_pending(struct pending *pending)
{
	struct pending **at = &pending->client->pending;

	while (*at != pending)
		at = &(*at)->next;
	*at = pending->next;
	sd_event_source_disable_unref(pending->timer);
	clv_rpc_reader_clear(&pending->reader);
	free(pending->request);
	free(pending);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct pending *pending = userdata;
	struct clv_rpc_client *client = pending->client;
	struct clv_rpc_status status = pending->status;
	clv_rpc_on_answer on_answer = pending->on_answer;
	uint8_t *data = pending->reader.data;
	size_t n_bytes = pending->reader.length;
	void *of_answer = pending->userdata;

	if (!pending->is_complete) {
		/* The timer is the deadline. */
		status = (struct clv_rpc_status){
			CLV_RPC_DEADLINE_EXCEEDED, "there was no answer in time"};
		nghttp2_session_set_stream_user_data(
			client->link.session, pending->stream, NULL);
		nghttp2_submit_rst_stream(client->link.session, NGHTTP2_FLAG_NONE,
			pending->stream, NGHTTP2_CANCEL);
		clv_rpc_link_flush(&client->link);
	}
	pending->reader.data = NULL;
	free_pending(pending);
	on_answer(&status, data, n_bytes, of_answer);
	free(data);
	return 0;
}

/* Sets the result and makes the timer call back once nghttp2 has returned. */
static void complete(struct pending *pending, int code, const char *message)
{
	if (pending->is_complete)
		return;
	pending->is_complete = true;
	if (code != CLV_RPC_OK) {
		pending->status.code = code;
		snprintf(pending->status.message, sizeof(pending->status.message), "%s",
			message);
	}
	sd_event_source_set_time(pending->timer, 0);
}

/* --- nghttp2's callbacks --- */

static struct pending *find(nghttp2_session *session, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(session, stream);
}

static void read_status(struct pending *pending, const uint8_t *value, size_t n_bytes)
{
	char text[16];

	snprintf(text, sizeof(text), "%.*s", (int)(n_bytes > 15 ? 15 : n_bytes), value);
	pending->status.code = atoi(text);
	pending->has_status = true;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
	const uint8_t *name, size_t n_name, const uint8_t *value, size_t n_value,
	uint8_t flags, void *userdata)
{
	struct pending *pending = find(session, frame->hd.stream_id);

	if (!pending)
		return 0;
	if (clv_rpc_is_header(name, n_name, "grpc-status"))
		read_status(pending, value, n_value);
	else if (clv_rpc_is_header(name, n_name, "grpc-message"))
		clv_rpc_unescape((const char *)value, n_value, pending->status.message);
	else if (clv_rpc_is_header(name, n_name, ":status") &&
		 !clv_rpc_is_header(value, n_value, "200"))
		complete(
			pending, CLV_RPC_UNAVAILABLE, "the server does not support gRPC");
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream,
	const uint8_t *data, size_t n_bytes, void *userdata)
{
	struct pending *pending = find(session, stream);
	size_t n_taken = 0;
	int r;

	if (!pending || pending->is_complete || n_bytes == 0)
		return 0;
	r = pending->has_answer
		    ? -EINVAL
		    : clv_rpc_reader_take(&pending->reader, data, n_bytes, &n_taken);
	pending->has_answer = pending->has_answer || r > 0;
	if (r < 0 || n_taken < n_bytes)
		complete(pending, CLV_RPC_INTERNAL,
			r == -EMSGSIZE ? "the answer is too large"
				       : "the answer is malformed");
	return 0;
}

static int on_stream_close(
	nghttp2_session *session, int32_t stream, uint32_t error, void *userdata)
{
	struct pending *pending = find(session, stream);

	if (!pending)
		return 0;
	if (!pending->has_status)
		complete(pending, CLV_RPC_UNAVAILABLE, "the server aborted the call");
	else if (pending->status.code == CLV_RPC_OK && !pending->has_answer)
		complete(pending, CLV_RPC_INTERNAL, "there was no answer");
	else
		complete(pending, CLV_RPC_OK, "");
	return 0;
}

static ssize_t read_request(nghttp2_session *session, int32_t stream, uint8_t *buffer,
	size_t room, uint32_t *flags, nghttp2_data_source *source, void *userdata)
{
	struct pending *pending = find(session, stream);
	size_t n;

	if (!pending)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	n = pending->n_request - pending->n_sent;
	n = n < room ? n : room;
	memcpy(buffer, pending->request + pending->n_sent, n);
	pending->n_sent += n;
	if (pending->n_sent == pending->n_request)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static void on_link_end(void *userdata)
{
	struct clv_rpc_client *client = userdata;

	/* The descriptor is closed with the client; until then it is not polled. */
	client->is_over = true;
	sd_event_source_set_enabled(client->link.source, SD_EVENT_OFF);
	for (struct pending *pending = client->pending; pending; pending = pending->next)
		complete(pending, CLV_RPC_UNAVAILABLE, "the connection ended");
}

/* --- The client --- */

static int make_session(struct clv_rpc_client *client)
{
	static const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES},
	};
	nghttp2_session_callbacks *callbacks;

	if (nghttp2_session_callbacks_new(&callbacks) < 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(
		callbacks, on_stream_close);
	nghttp2_session_client_new(&client->link.session, callbacks, client);
	nghttp2_session_callbacks_del(callbacks);
	if (!client->link.session ||
		nghttp2_submit_settings(client->link.session, NGHTTP2_FLAG_NONE, settings,
			CLV_ARRAY_SIZE(settings)) < 0 ||
		nghttp2_session_set_local_window_size(
			client->link.session, NGHTTP2_FLAG_NONE, 0, WINDOW_BYTES) < 0)
		return -ENOMEM;
	return 0;
}

int clv_rpc_client_new(sd_event *event, const char *path, struct clv_rpc_client **ret,
	struct clv_error *err)
{
	CLV_CLEANUP(clv_rpc_client_freep)
	struct clv_rpc_client *client = calloc(1, sizeof(*client));
	int fd, r;

	if (!client)
		return clv_error_errno(err, ENOMEM, "cannot call %s", path);
	client->event = sd_event_ref(event);
	client->link = (struct clv_rpc_link){
		.fd = -1, .on_end = on_link_end, .userdata = client};
	fd = clv_socket_connect(path, SOCK_STREAM, 0, err);
	if (fd < 0)
		return fd;
	client->link.fd = fd;
	r = make_session(client);
	if (r >= 0)
		r = clv_rpc_link_open(&client->link, event, fd);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot call %s", path);
	*ret = CLV_TAKE(client);
	return 0;
}

struct clv_rpc_client *clv_rpc_client_free(struct clv_rpc_client *client)
{
	if (!client)
		return NULL;

	while (client->pending)
		free_pending(client->pending);
	clv_rpc_link_close(&client->link);
	sd_event_unref(client->event);
	free(client);
	return NULL;
}

static struct pending *new_pending(struct clv_rpc_client *client, const uint8_t *data,
	size_t n_bytes, uint32_t timeout_ms)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (!pending)
		return NULL;
	pending->client = client;
	pending->next = client->pending;
	client->pending = pending;
	pending->reader.most_bytes = CLV_RPC_ANSWER_MAX_BYTES;
	pending->n_request = CLV_RPC_PREFIX_BYTES + n_bytes;
	pending->request = malloc(pending->n_request);
	if (!pending->request ||
		sd_event_add_time_relative(client->event, &pending->timer,
			CLOCK_MONOTONIC, timeout_ms * UINT64_C(1000), 1, on_timer,
			pending) < 0) {
		free_pending(pending);
		return NULL;
	}
	clv_rpc_write_prefix(n_bytes, pending->request);
	if (n_bytes > 0)
		memcpy(pending->request + CLV_RPC_PREFIX_BYTES, data, n_bytes);
	return pending;
}

static int32_t submit(struct clv_rpc_client *client, struct pending *pending,
	const char *path, const char *timeout)
{
	nghttp2_data_provider provider = {.read_callback = read_request};
	nghttp2_nv headers[] = {
		clv_rpc_header(":method", "POST"),
		clv_rpc_header(":scheme", "http"),
		clv_rpc_header(":path", path),
		clv_rpc_header(":authority", "localhost"),
		clv_rpc_header("te", "trailers"),
		clv_rpc_header("content-type", "application/grpc"),
		clv_rpc_header("grpc-timeout", timeout),
	};

	return nghttp2_submit_request(client->link.session, NULL, headers,
		CLV_ARRAY_SIZE(headers), &provider, pending);
}

int clv_rpc_client_call(struct clv_rpc_client *client, const char *path,
	const uint8_t *data, size_t n_bytes, uint32_t timeout_ms,
	clv_rpc_on_answer on_answer, void *userdata)
{
	struct pending *pending = new_pending(client, data, n_bytes, timeout_ms);
	char timeout[16];

	if (!pending)
		return -ENOMEM;
	pending->on_answer = on_answer;
	pending->userdata = userdata;
	snprintf(timeout, sizeof(timeout), "%um", timeout_ms % 100000000u);
	if (!client->is_over)
		pending->stream = submit(client, pending, path, timeout);
	if (client->is_over || pending->stream < 0)
		complete(pending, CLV_RPC_UNAVAILABLE, "the connection ended");
	else
		clv_rpc_link_flush(&client->link);
	return 0;
}
