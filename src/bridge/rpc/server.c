/* SPDX-License-Identifier: Apache-2.0 */
/* The socket, its connections, and nghttp2's callbacks for their streams.  An error of a
 * peer at most ends its connection. */
#include "bridge/rpc/server.h"

#include "base/error.h"
#include "base/socket.h"
#include "bridge/rpc/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_BYTES (1 << 20)
#define RESETS_MAX 1000u /* of streams, before the connection is closed */

struct clv_rpc_server {
	sd_event *event;
	sd_event_source *source;
	int fd;
	char path[108];
	ino_t inode;
	struct clv_rpc_service service;
	struct clv_rpc_connection *connections;
	unsigned n_connections;
};

/* --- A connection --- */

static int on_begin_headers(
	nghttp2_session *session, const nghttp2_frame *frame, void *userdata)
{
	struct clv_rpc_call *call;

	if (frame->hd.type != NGHTTP2_HEADERS ||
		frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	call = clv_rpc_call_new(userdata, frame->hd.stream_id);
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
	return 0;
}

static struct clv_rpc_call *find_call(nghttp2_session *session, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(session, stream);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
	const uint8_t *name, size_t n_name, const uint8_t *value, size_t n_value,
	uint8_t flags, void *userdata)
{
	struct clv_rpc_call *call = find_call(session, frame->hd.stream_id);

	if (!call || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	call->n_header_bytes += n_name + n_value;
	if (call->n_header_bytes > CLV_RPC_HEADERS_MAX_BYTES)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	clv_rpc_call_on_header(call, name, n_name, value, n_value);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream,
	const uint8_t *data, size_t n_bytes, void *userdata)
{
	struct clv_rpc_call *call = find_call(session, stream);

	if (call)
		clv_rpc_call_on_data(call, data, n_bytes);
	return 0;
}

static int on_reset(struct clv_rpc_connection *connection)
{
	/* Defends against rapid resets (CVE-2023-44487): no client resets so many calls.
	 */
	return ++connection->n_resets > RESETS_MAX ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *userdata)
{
	struct clv_rpc_call *call = find_call(session, frame->hd.stream_id);

	if (frame->hd.type == NGHTTP2_RST_STREAM)
		return on_reset(userdata);
	if (!call)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS &&
		frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		clv_rpc_call_on_headers_end(call);
	if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
		(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		clv_rpc_call_on_end(call);
	return 0;
}

static int on_stream_close(
	nghttp2_session *session, int32_t stream, uint32_t error, void *userdata)
{
	struct clv_rpc_connection *connection = userdata;
	struct clv_rpc_call *call = find_call(session, stream);

	if (!call)
		return 0;
	if (error == NGHTTP2_NO_ERROR)
		connection->n_resets = 0;
	clv_rpc_call_end(call);
	clv_rpc_call_free(call);
	return 0;
}

static void close_connection(struct clv_rpc_connection *connection)
{
	struct clv_rpc_server *server = connection->server;

	if (connection->next)
		connection->next->previous = connection->previous;
	if (connection->previous)
		connection->previous->next = connection->next;
	else
		server->connections = connection->next;
	server->n_connections--;
	while (connection->calls) {
		clv_rpc_call_end(connection->calls);
		clv_rpc_call_free(connection->calls);
	}
	clv_rpc_link_close(&connection->link);
	free(connection);
}

static void on_link_end(void *userdata)
{
	close_connection(userdata);
}

/* Without nghttp2's checks of HTTP: gRPC for Go up to 1.4x, in kubelet up to 1.25, sends
 * the path of the socket as ":authority", which is not the name of a host.  The call
 * checks the fields that it uses. */
static int make_lax_session(
	struct clv_rpc_connection *connection, const nghttp2_session_callbacks *callbacks)
{
	nghttp2_option *option;
	int r = nghttp2_option_new(&option);

	if (r < 0)
		return r;
	nghttp2_option_set_no_http_messaging(option, 1);
	r = nghttp2_session_server_new2(
		&connection->link.session, callbacks, connection, option);
	nghttp2_option_del(option);
	return r;
}

static int make_session(struct clv_rpc_connection *connection)
{
	static const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, CLV_RPC_STREAMS_MAX},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, CLV_RPC_HEADERS_MAX_BYTES},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES},
	};
	nghttp2_session_callbacks *callbacks;
	int r = nghttp2_session_callbacks_new(&callbacks);

	if (r < 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_begin_headers_callback(
		callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(
		callbacks, on_stream_close);
	r = make_lax_session(connection, callbacks);
	nghttp2_session_callbacks_del(callbacks);
	if (r == 0)
		r = nghttp2_submit_settings(connection->link.session, NGHTTP2_FLAG_NONE,
			settings, CLV_ARRAY_SIZE(settings));
	if (r == 0)
		r = nghttp2_session_set_local_window_size(
			connection->link.session, NGHTTP2_FLAG_NONE, 0, WINDOW_BYTES);
	return r == 0 ? 0 : -ENOMEM;
}

int clv_rpc_server_adopt(struct clv_rpc_server *server, int fd)
{
	struct clv_rpc_connection *connection = calloc(1, sizeof(*connection));
	int r;

	if (!connection) {
		close(fd);
		return -ENOMEM;
	}
	connection->server = server;
	connection->event = server->event;
	connection->service = &server->service;
	connection->link = (struct clv_rpc_link){
		.fd = fd, .on_end = on_link_end, .userdata = connection};
	r = make_session(connection);
	if (r < 0) {
		clv_rpc_link_close(&connection->link);
		free(connection);
		return r;
	}
	connection->next = server->connections;
	if (connection->next)
		connection->next->previous = connection;
	server->connections = connection;
	server->n_connections++;
	r = clv_rpc_link_open(&connection->link, server->event, fd);
	if (r < 0) {
		close_connection(connection);
		return r;
	}
	clv_rpc_link_flush(&connection->link);
	return 0;
}

/* --- The server --- */

static bool may_call(int fd)
{
	struct ucred peer;
	socklen_t n_bytes = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n_bytes) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

static int on_connect(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_rpc_server *server = userdata;
	_cleanup_close_ int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (peer >= 0 && may_call(peer) &&
		server->n_connections < CLV_RPC_CONNECTIONS_MAX)
		clv_rpc_server_adopt(server, CLV_TAKE_FD(peer));
	return 0;
}

bool clv_rpc_server_socket_exists(const struct clv_rpc_server *server)
{
	struct stat file;

	return stat(server->path, &file) == 0 && file.st_ino == server->inode;
}

static int listen_at(struct clv_rpc_server *server, struct clv_error *err)
{
	struct stat file;
	int r;

	server->fd = clv_socket_listen(server->path, SOCK_STREAM, 0600, err);
	if (server->fd < 0)
		return server->fd;
	if (stat(server->path, &file) < 0)
		return clv_error_errno(err, errno, "%s", server->path);
	server->inode = file.st_ino;
	r = sd_event_add_io(
		server->event, &server->source, server->fd, EPOLLIN, on_connect, server);
	return r < 0 ? clv_error_errno(err, -r, "cannot watch %s", server->path) : 0;
}

int clv_rpc_server_new(sd_event *event, const char *path,
	const struct clv_rpc_service *service, struct clv_rpc_server **ret,
	struct clv_error *err)
{
	CLV_CLEANUP(clv_rpc_server_freep)
	struct clv_rpc_server *server = calloc(1, sizeof(*server));
	int r = 0;

	if (!server)
		return clv_error_errno(err, ENOMEM, "cannot serve %s", path);
	server->event = sd_event_ref(event);
	server->service = *service;
	server->fd = -1;
	if (strlen(path) >= sizeof(server->path))
		return clv_error_set(err, -ENAMETOOLONG,
			"the socket path %.60s... is over %zu bytes: use a shorter "
			"folder",
			path, sizeof(server->path) - 1);
	strcpy(server->path, path);
	if (path[0] != '\0')
		r = listen_at(server, err);
	if (r < 0)
		return r;
	*ret = CLV_TAKE(server);
	return 0;
}

struct clv_rpc_server *clv_rpc_server_free(struct clv_rpc_server *server)
{
	if (!server)
		return NULL;

	while (server->connections)
		close_connection(server->connections);
	if (server->fd >= 0 && clv_rpc_server_socket_exists(server))
		unlink(server->path);
	sd_event_source_disable_unref(server->source);
	clv_close_fd(&server->fd);
	sd_event_unref(server->event);
	free(server);
	return NULL;
}
