/* SPDX-License-Identifier: Apache-2.0 */
/* Answers are told from a place where nothing of nghttp2 is on the stack, so that whoever
 * is told may end the connection. */
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

struct asked {
	struct asked *next;
	struct clv_rpc_client *client;
	int32_t stream;
	uint8_t *request;
	size_t n_request, n_sent;
	struct clv_rpc_reader reader;
	bool has_answer, has_status, is_told;
	struct clv_rpc_status status;
	sd_event_source *timer; /* the deadline; then, that it is to be told */
	clv_rpc_on_answer on_answer;
	void *userdata;
};

struct clv_rpc_client {
	sd_event *event;
	struct clv_rpc_link link;
	struct asked *asked;
	bool is_over;
};

static void free_asked(struct asked *asked)
{
	struct asked **at = &asked->client->asked;

	while (*at != asked)
		at = &(*at)->next;
	*at = asked->next;
	sd_event_source_disable_unref(asked->timer);
	clv_rpc_reader_clear(&asked->reader);
	free(asked->request);
	free(asked);
}

static int on_told(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct asked *asked = userdata;
	struct clv_rpc_client *client = asked->client;
	struct clv_rpc_status status = asked->status;
	clv_rpc_on_answer on_answer = asked->on_answer;
	uint8_t *data = asked->reader.data;
	size_t n_bytes = asked->reader.length;
	void *of_answer = asked->userdata;

	if (!asked->is_told) {
		/* The deadline, not the answer. */
		status = (struct clv_rpc_status){
			CLV_RPC_DEADLINE_EXCEEDED, "there was no answer in time"};
		nghttp2_session_set_stream_user_data(
			client->link.session, asked->stream, NULL);
		nghttp2_submit_rst_stream(client->link.session, NGHTTP2_FLAG_NONE,
			asked->stream, NGHTTP2_CANCEL);
		clv_rpc_link_flush(&client->link);
	}
	asked->reader.data = NULL;
	free_asked(asked);
	on_answer(&status, data, n_bytes, of_answer);
	free(data);
	return 0;
}

/* Once nghttp2 has returned. */
static void tell(struct asked *asked, int code, const char *message)
{
	if (asked->is_told)
		return;
	asked->is_told = true;
	if (code != CLV_RPC_OK) {
		asked->status.code = code;
		snprintf(asked->status.message, sizeof(asked->status.message), "%s",
			message);
	}
	sd_event_source_set_time(asked->timer, 0);
}

/* --- What nghttp2 says --- */

static struct asked *find(nghttp2_session *session, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(session, stream);
}

static void take_code(struct asked *asked, const uint8_t *value, size_t n_bytes)
{
	char text[16];

	snprintf(text, sizeof(text), "%.*s", (int)(n_bytes > 15 ? 15 : n_bytes), value);
	asked->status.code = atoi(text);
	asked->has_status = true;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
	const uint8_t *name, size_t n_name, const uint8_t *value, size_t n_value,
	uint8_t flags, void *userdata)
{
	struct asked *asked = find(session, frame->hd.stream_id);

	if (!asked)
		return 0;
	if (clv_rpc_is_header(name, n_name, "grpc-status"))
		take_code(asked, value, n_value);
	else if (clv_rpc_is_header(name, n_name, "grpc-message"))
		clv_rpc_unescape((const char *)value, n_value, asked->status.message);
	else if (clv_rpc_is_header(name, n_name, ":status") &&
		 !clv_rpc_is_header(value, n_value, "200"))
		tell(asked, CLV_RPC_UNAVAILABLE, "the other end speaks no gRPC");
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream,
	const uint8_t *data, size_t n_bytes, void *userdata)
{
	struct asked *asked = find(session, stream);
	size_t n_taken = 0;
	int r;

	if (!asked || asked->is_told || n_bytes == 0)
		return 0;
	r = asked->has_answer
		    ? -EINVAL
		    : clv_rpc_reader_take(&asked->reader, data, n_bytes, &n_taken);
	asked->has_answer = asked->has_answer || r > 0;
	if (r < 0 || n_taken < n_bytes)
		tell(asked, CLV_RPC_INTERNAL,
			r == -EMSGSIZE ? "the answer is too large"
				       : "the answer cannot be read");
	return 0;
}

static int on_stream_close(
	nghttp2_session *session, int32_t stream, uint32_t error, void *userdata)
{
	struct asked *asked = find(session, stream);

	if (!asked)
		return 0;
	if (!asked->has_status)
		tell(asked, CLV_RPC_UNAVAILABLE, "the call was broken off");
	else if (asked->status.code == CLV_RPC_OK && !asked->has_answer)
		tell(asked, CLV_RPC_INTERNAL, "there was no answer");
	else
		tell(asked, CLV_RPC_OK, "");
	return 0;
}

static ssize_t read_request(nghttp2_session *session, int32_t stream, uint8_t *buffer,
	size_t room, uint32_t *flags, nghttp2_data_source *source, void *userdata)
{
	struct asked *asked = find(session, stream);
	size_t n;

	if (!asked)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	n = asked->n_request - asked->n_sent;
	n = n < room ? n : room;
	memcpy(buffer, asked->request + asked->n_sent, n);
	asked->n_sent += n;
	if (asked->n_sent == asked->n_request)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static void on_link_end(void *userdata)
{
	struct clv_rpc_client *client = userdata;

	/* The descriptor goes with the client; until then nothing is to be heard. */
	client->is_over = true;
	sd_event_source_set_enabled(client->link.source, SD_EVENT_OFF);
	for (struct asked *asked = client->asked; asked; asked = asked->next)
		tell(asked, CLV_RPC_UNAVAILABLE, "the connection ended");
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

	while (client->asked)
		free_asked(client->asked);
	clv_rpc_link_close(&client->link);
	sd_event_unref(client->event);
	free(client);
	return NULL;
}

static struct asked *make_asked(struct clv_rpc_client *client, const uint8_t *data,
	size_t n_bytes, uint32_t timeout_ms)
{
	struct asked *asked = calloc(1, sizeof(*asked));

	if (!asked)
		return NULL;
	asked->client = client;
	asked->next = client->asked;
	client->asked = asked;
	asked->reader.most_bytes = CLV_RPC_ANSWER_MAX_BYTES;
	asked->n_request = CLV_RPC_PREFIX_BYTES + n_bytes;
	asked->request = malloc(asked->n_request);
	if (!asked->request ||
		sd_event_add_time_relative(client->event, &asked->timer, CLOCK_MONOTONIC,
			timeout_ms * UINT64_C(1000), 1, on_told, asked) < 0) {
		free_asked(asked);
		return NULL;
	}
	clv_rpc_write_prefix(n_bytes, asked->request);
	if (n_bytes > 0)
		memcpy(asked->request + CLV_RPC_PREFIX_BYTES, data, n_bytes);
	return asked;
}

static int32_t submit(struct clv_rpc_client *client, struct asked *asked,
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
		CLV_ARRAY_SIZE(headers), &provider, asked);
}

int clv_rpc_client_call(struct clv_rpc_client *client, const char *path,
	const uint8_t *data, size_t n_bytes, uint32_t timeout_ms,
	clv_rpc_on_answer on_answer, void *userdata)
{
	struct asked *asked = make_asked(client, data, n_bytes, timeout_ms);
	char timeout[16];

	if (!asked)
		return -ENOMEM;
	asked->on_answer = on_answer;
	asked->userdata = userdata;
	snprintf(timeout, sizeof(timeout), "%um", timeout_ms % 100000000u);
	if (!client->is_over)
		asked->stream = submit(client, asked, path, timeout);
	if (client->is_over || asked->stream < 0)
		tell(asked, CLV_RPC_UNAVAILABLE, "the connection ended");
	else
		clv_rpc_link_flush(&client->link);
	return 0;
}
