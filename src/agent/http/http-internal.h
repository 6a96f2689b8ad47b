/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/http/http.h"
#include "agent/os/processes.h"

#include <microhttpd.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

/* What the files of the HTTP server share. */

/* A socket that is listened on: libmicrohttpd has a server for each. */
struct clv_server {
	struct clv_http *http;
	struct MHD_Daemon *daemon;
	sd_event_source *io;
	int listen_fd; /* the daemon's */
	bool is_unix;
	unsigned int n_ends; /* open connections */
};

/* Who is at the other end of a connection, found once. */
struct clv_end {
	TAILQ_ENTRY(clv_end) entry;
	struct clv_ends *ends;
	struct clv_server *server;
	int fd;
	struct clv_peer peer;      /* of a Unix socket */
	const char *cgroup_tenant; /* in whose cgroup he is; NULL: nobody's */
	uid_t counted_as;
	bool is_counted;
	uint64_t since_ns; /* when it began to keep us waiting; 0: we work for it */
	char from[64];
};

/* All connections: how many each user has, and how long each takes. */
struct clv_ends *clv_ends_new(struct clv_agent *agent);
struct clv_ends *clv_ends_free(struct clv_ends *ends);
unsigned int clv_ends_limit(const struct clv_ends *ends); /* of a server */

/* One too many is shut at once, and the server then finds it at its end.  NULL when there
 * is no memory; the socket is shut then, too. */
struct clv_end *clv_end_new(struct clv_ends *ends, struct clv_server *server, int fd);
struct clv_end *clv_end_free(struct clv_end *end);
void clv_end_set_busy(struct clv_end *end, bool is_busy);

/* A request with what only the server knows of it. */
struct clv_exchange {
	TAILQ_ENTRY(clv_exchange) entry; /* while suspended */
	struct clv_http *http;
	struct clv_request request;
	char *body;
	size_t room;
	uint64_t n_read; /* of the body, kept or not */
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

/* Until a topic is woken, the deadline, or the end of the client. */
void clv_exchange_suspend(struct clv_exchange *exchange);
/* Whether the caller of a request that goes on for long still is who he was: tokens end.
 */
int clv_http_check_caller(const struct clv_request *request, struct clv_error *err);
bool clv_http_is_stopping(const struct clv_http *http);
