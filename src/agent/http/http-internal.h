/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/http/http.h"
#include "agent/os/processes.h"

#include <microhttpd.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

/* Shared by the files of the HTTP server. */

/* A listening socket with its libmicrohttpd daemon. */
struct clv_server {
	struct clv_http *http;
	struct MHD_Daemon *daemon;
	sd_event_source *io;
	int listen_fd; /* owned by the daemon */
	bool is_unix;
	unsigned int n_peers; /* open connections */
};

/* The peer of a connection, identified when the connection is accepted. */
struct clv_http_peer {
	TAILQ_ENTRY(clv_http_peer) entry;
	struct clv_http_peers *peers;
	struct clv_server *server;
	int fd;
	struct clv_peer process;   /* of a Unix socket */
	const char *cgroup_tenant; /* of the process's cgroup, or NULL */
	uid_t counted_as;          /* the owner, or a number for the address */
	bool is_counted;
	uint64_t since_ns; /* waits for a request since then; 0: a request runs */
	char from[64];
};

/* All connections, limited by user and by the time until a request is complete. */
struct clv_http_peers *clv_http_peers_new(struct clv_agent *agent);
struct clv_http_peers *clv_http_peers_free(struct clv_http_peers *peers);
/* The most connections that one server may have. */
unsigned int clv_http_peers_limit(const struct clv_http_peers *peers);

/* A connection over the limit is shut down at once, and the server then reads its end.
 * NULL when there is no memory; the socket is then shut down as well. */
struct clv_http_peer *clv_http_peer_new(
	struct clv_http_peers *peers, struct clv_server *server, int fd);
struct clv_http_peer *clv_http_peer_free(struct clv_http_peer *peer);
void clv_http_peer_set_busy(struct clv_http_peer *peer, bool is_busy);

/* A request with the server's own state. */
struct clv_exchange {
	TAILQ_ENTRY(clv_exchange) entry; /* while suspended */
	struct clv_http *http;
	struct clv_request request;
	char *body;
	size_t room;
	uint64_t n_read; /* of the body, stored or discarded */
	bool is_suspended;
	bool has_run;
	bool is_answered;
	bool is_gone;            /* the client hung up during a wait */
	sd_event_source *hangup; /* while suspended */
	unsigned int topics;
	uint64_t deadline_ns; /* of the wait; 0: has not waited */
};

/* Answers with what the handler left in the request, or with a problem document. */
enum MHD_Result clv_exchange_answer(struct clv_exchange *exchange);
enum MHD_Result clv_exchange_refuse(
	struct clv_exchange *exchange, const struct clv_error *err);

/* Suspends the connection until a topic is published, the deadline passes or the client
 * hangs up. */
void clv_exchange_suspend(struct clv_exchange *exchange);
/* Checks the caller of a long request again: its token may have expired meanwhile. */
int clv_http_check_caller(const struct clv_request *request, struct clv_error *err);
bool clv_http_is_stopping(const struct clv_http *http);
