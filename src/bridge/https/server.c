/* SPDX-License-Identifier: Apache-2.0 */
/* Serves JSON with libmicrohttpd, a thread for each connection. */
#include "bridge/https/server.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "bridge/https/certificate.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PEM_MAX_BYTES (1u << 20)
#define CONNECTIONS_MAX 64u
#define IDLE_S 30u

struct clv_server {
	struct MHD_Daemon *daemon;
	bool has_tls;
	char *client_ca; /* owned, PEM; or NULL */
	size_t body_max_bytes;
	json_t *(*answer)(void *userdata, const char *path, const json_t *body,
		unsigned *ret_status, struct clv_error *err);
	bool (*is_ready)(void *userdata, char *ret_line, size_t n_bytes);
	void *userdata;
	unsigned port;
};

struct body {
	char *data;
	size_t n_bytes;
};

static enum MHD_Result reply(
	struct MHD_Connection *connection, unsigned status, char *text, const char *type)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result r;

	if (!response) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	r = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return r;
}

static enum MHD_Result reply_text(
	struct MHD_Connection *connection, unsigned status, const char *words)
{
	char *text = strdup(words);

	return text ? reply(connection, status, text, "text/plain") : MHD_NO;
}

static enum MHD_Result reply_line(
	struct MHD_Connection *connection, unsigned status, const char *line)
{
	char text[sizeof(((struct clv_error *)NULL)->msg) + 2];

	snprintf(text, sizeof(text), "%s\n", line);
	return reply_text(connection, status, text);
}

static enum MHD_Result reply_ready(
	const struct clv_server *server, struct MHD_Connection *connection)
{
	char line[512] = "ok";
	bool is_ready = !server->is_ready ||
			server->is_ready(server->userdata, line, sizeof(line));

	return reply_line(
		connection, is_ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, line);
}

static bool is_authenticated(
	const struct clv_server *server, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info;
	unsigned status = 0;

	if (!server->client_ca)
		return true;
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	return info &&
	       gnutls_certificate_verify_peers2(
		       (gnutls_session_t)info->tls_session, &status) == 0 &&
	       status == 0;
}

static enum MHD_Result answer(const struct clv_server *server,
	struct MHD_Connection *connection, const char *path, const struct body *body)
{
	json_t *question = json_loadb(body->data ? body->data : "", body->n_bytes,
		JSON_REJECT_DUPLICATES, NULL);
	unsigned status = MHD_HTTP_INTERNAL_SERVER_ERROR;
	struct clv_error err = {0};
	json_t *object;
	char *text;

	if (!question)
		return reply_text(
			connection, MHD_HTTP_BAD_REQUEST, "the body is not JSON\n");
	object = server->answer(server->userdata, path, question, &status, &err);
	json_decref(question);
	if (!object)
		return reply_line(connection, status, err.msg);
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	return text ? reply(connection, MHD_HTTP_OK, text, "application/json") : MHD_NO;
}

static bool append_body(
	struct body *body, size_t most_bytes, const char *data, size_t n_bytes)
{
	char *grown;

	if (n_bytes > most_bytes - body->n_bytes)
		return false;
	grown = realloc(body->data, body->n_bytes + n_bytes);
	if (!grown)
		return false;
	memcpy(grown + body->n_bytes, data, n_bytes);
	body->data = grown;
	body->n_bytes += n_bytes;
	return true;
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection,
	const char *url, const char *method, const char *version, const char *data,
	size_t *n_bytes, void **state)
{
	const struct clv_server *server = userdata;
	struct body *body = *state;

	if (!body) {
		*state = calloc(1, sizeof(*body));
		return *state ? MHD_YES : MHD_NO;
	}
	if (*n_bytes > 0) {
		bool is_appended =
			append_body(body, server->body_max_bytes, data, *n_bytes);

		*n_bytes = 0;
		return is_appended ? MHD_YES : MHD_NO;
	}
	if (strcmp(url, "/healthz") == 0)
		return reply_text(connection, MHD_HTTP_OK, "ok\n");
	if (strcmp(url, "/readyz") == 0)
		return reply_ready(server, connection);
	if (!is_authenticated(server, connection))
		return reply_text(connection, MHD_HTTP_UNAUTHORIZED,
			"a certificate of the client CA is required\n");
	if (strcmp(method, MHD_HTTP_METHOD_POST) != 0)
		return reply_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
			"only POST is allowed\n");
	return answer(server, connection, url, body);
}

static void on_end(void *userdata, struct MHD_Connection *connection, void **state,
	enum MHD_RequestTerminationCode why)
{
	struct body *body = *state;

	if (body)
		free(body->data);
	free(body);
}

static int read_pem(const char *path, char **ret, struct clv_error *err)
{
	return path ? clv_file_read_all(path, PEM_MAX_BYTES, ret, NULL, err) : 0;
}

static bool is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
	const struct sockaddr_in6 *v6 =
		(const struct sockaddr_in6 *)(const void *)address;

	if (address->sa_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static int check(const struct clv_server_options *options, const struct sockaddr *address,
	struct clv_error *err)
{
	if (!options->certificate != !options->key)
		return clv_error_set(err, -EINVAL,
			"--certificate and --key go together: give both files");
	if (options->client_ca && !options->certificate)
		return clv_error_set(err, -EINVAL,
			"--client-ca needs TLS: give --certificate and --key, too");
	if (options->client_ca || is_loopback(address))
		return 0;
	if (options->danger)
		return clv_error_set(err, -EPERM,
			"any client that reaches %s could %s: give --client-ca, or "
			"listen on 127.0.0.1",
			options->address, options->danger);
	return options->certificate
		       ? 0
		       : clv_error_set(err, -EPERM,
				 "%s is not the loopback: give --certificate and --key",
				 options->address);
}

static int find_address(const struct clv_server_options *options, struct addrinfo **ret,
	struct clv_error *err)
{
	struct addrinfo wanted = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM,
	};
	int r = getaddrinfo(options->address, options->port, &wanted, ret);

	return r == 0 ? 0
		      : clv_error_set(err, -EINVAL,
				"cannot listen on %s:%s: %s (a numeric address is "
				"needed)",
				options->address, options->port, gai_strerror(r));
}

static int start(
	struct clv_server *server, const struct sockaddr *address, struct clv_error *err)
{
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)clv_certificate_retrieve},
		{server->client_ca ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
			server->client_ca},
		{MHD_OPTION_END, 0, NULL},
	};
	struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
	unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD;
	const union MHD_DaemonInfo *info;

	if (address->sa_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	server->daemon = MHD_start_daemon(flags | (server->has_tls ? MHD_USE_TLS : 0), 0,
		NULL, NULL, on_request, server, MHD_OPTION_SOCK_ADDR, address,
		MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_CONNECTION_LIMIT,
		CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_ARRAY,
		server->has_tls ? tls : none, MHD_OPTION_END);
	if (!server->daemon)
		return clv_error_set(
			err, -EADDRINUSE, "cannot listen there: is the port in use?");
	info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
	server->port = info ? info->port : 0;
	return 0;
}

int clv_server_new(const struct clv_server_options *options, struct clv_server **ret,
	struct clv_error *err)
{
	struct clv_server *server = calloc(1, sizeof(*server));
	struct addrinfo *address = NULL;
	int r = server ? find_address(options, &address, err)
		       : clv_error_errno(err, ENOMEM, "cannot serve");

	if (r >= 0)
		r = check(options, address->ai_addr, err);
	if (r >= 0)
		r = options->certificate ? clv_certificate_serve(options->certificate,
						   options->key, err)
					 : 0;
	if (r >= 0)
		r = read_pem(options->client_ca, &server->client_ca, err);
	if (r >= 0) {
		server->has_tls = options->certificate != NULL;
		server->body_max_bytes = options->body_max_bytes;
		server->answer = options->answer;
		server->is_ready = options->is_ready;
		server->userdata = options->userdata;
		r = start(server, address->ai_addr, err);
	}
	if (address)
		freeaddrinfo(address);
	if (r < 0) {
		clv_server_free(server);
		return r;
	}
	*ret = server;
	return 0;
}

struct clv_server *clv_server_free(struct clv_server *server)
{
	if (!server)
		return NULL;
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	if (server->has_tls)
		clv_certificate_end();
	free(server->client_ca);
	free(server);
	return NULL;
}

unsigned clv_server_port(const struct clv_server *server)
{
	return server->port;
}

int clv_server_split_address(char *text, struct clv_server_options *options)
{
	char *colon = strrchr(text, ':');

	if (!colon || colon == text)
		return -EINVAL;
	*colon = '\0';
	options->port = colon + 1;
	options->address = text;
	if (text[0] == '[' && colon[-1] == ']') {
		colon[-1] = '\0';
		options->address = text + 1;
	}
	return 0;
}
