/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/http/http.h"
#include "agent/os/processes.h"
#include "agent/user/fair.h"

#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

/* Shared by the files of the HTTP server. */

#define CLV_LISTENERS_MAX 2u

/* A listening socket with its libmicrohttpd daemon. */
struct clv_server {
	struct clv_http *http;
	struct MHD_Daemon *daemon;
	sd_event_source *io;
	sd_event_source *accept; /* with TLS; else the daemon accepts */
	int listen_fd;           /* without TLS owned by the daemon */
	bool is_unix, has_tls;
	unsigned int n_peers; /* open connections */
	unsigned int
		n_untrusted; /* of these, over the network and without a valid token */
};

struct clv_http {
	struct clv_agent *agent;
	const struct clv_http_handler *handler;
	struct clv_server servers[CLV_LISTENERS_MAX];
	size_t n_servers;
	sd_event_source *timer;
	TAILQ_HEAD(, clv_exchange) waiting;
	size_t n_waiting;
	struct clv_fair *fair;
	sd_event_source *turns; /* enabled while requests wait for their turn */
	bool has_run_one;       /* without a turn, since the servers were last called */
	struct clv_http_peers *peers;
	bool is_stopping;
	bool has_resumed; /* a connection that no server has handled since */
	/* Requests without a valid token since the last line of the log about them. */
	unsigned int n_unauthenticated;
	uint64_t unauthenticated_logged_ns; /* 0: never */
};

/* The peer of a connection, identified when the connection is accepted. */
struct clv_http_peer {
	TAILQ_ENTRY(clv_http_peer) entry;
	struct clv_http_peers *peers;
	struct clv_server *server;
	int fd;
	struct clv_peer process; /* of a Unix socket */
	char cgroup_tenant[64];  /* of the process's cgroup; "": none */
	unsigned int n_reloads; /* number of the settings from which cgroup_tenant is, see
				   struct clv_agent */
	uid_t counted_as;       /* the account, or a number for address or token */
	bool is_counted;
	bool has_ended;          /* the last sweep saw the end of what the client sends */
	bool is_trusted;         /* over the network: has presented a valid token */
	const char *version_at;  /* where the version of the current request begins */
	bool has_cut_parameters; /* of the current request */
	uint64_t since_ns;       /* waits for a request since then; 0: a request runs */
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
/* Makes a connection over the network one of the token's, and no longer of its address.
 * False: the token has too many; the connection is shut down. */
bool clv_http_peer_trust(struct clv_http_peer *peer, const char *token);
/* Identifies a process again if the settings were replaced since, and counts its
 * connection for its user once that is known.  False: as above, for the user. */
bool clv_http_peer_refresh(struct clv_http_peer *peer);
void clv_http_peer_set_busy(struct clv_http_peer *peer, bool is_busy);
/* The peer of a connection, borrowed; NULL: there was no memory for it. */
struct clv_http_peer *clv_http_peer_of(struct MHD_Connection *connection);

/* A request with the server's own state. */
struct clv_exchange {
	TAILQ_ENTRY(clv_exchange) entry; /* while suspended until something happens */
	struct clv_fair_item turn;       /* while suspended until it is its turn */
	struct clv_http *http;
	struct clv_request request;
	char *body;
	size_t room;
	bool is_suspended;
	bool is_identified;
	bool has_turn;
	bool has_run; /* the handler has */
	bool is_answered;
	bool is_gone;            /* the client hung up during a wait */
	sd_event_source *hangup; /* while suspended */
	unsigned int topics;
	uint64_t deadline_ns; /* of the wait; 0: has not waited */
};

/* Checks the framing of a request whose header is complete: 0, -EINVAL or -CLV_E_LENGTH.
 * version_at: clv_http_find_version() of its target. */
int clv_http_check_framing(const struct clv_request *request, const char *version,
	const char *version_at, struct clv_error *err);
/* For a target that libmicrohttpd has not decoded yet: where the version begins, if there
 * is nothing odd between it and the method; else NULL. */
const char *clv_http_find_version(const char *target);
/* No request needs more.  libmicrohttpd 0.9.75 neither answers a request whose parameters
 * fill its memory nor closes the connection, so the others are cut off in its buffer
 * before it parses them.  Returns whether there were any: the request is to be refused.
 */
#define CLV_HTTP_PARAMETERS_MAX 64u
bool clv_http_cut_parameters(const char *target);

/* As MHD_queue_response(), for the answers of the agent itself. */
enum MHD_Result clv_http_queue(struct MHD_Connection *connection, unsigned int status,
	struct MHD_Response *response);

/* A gnutls_certificate_retrieve_function3. */
int clv_http_get_certificate(gnutls_session_t session,
	const struct gnutls_cert_retr_st *info, gnutls_pcert_st **ret_chain,
	unsigned int *ret_n_chain, gnutls_ocsp_data_st **ret_ocsp,
	unsigned int *ret_n_ocsp, gnutls_privkey_t *ret_key, unsigned int *ret_flags);

/* Answers with what the handler left in the request, or with a problem document. */
enum MHD_Result clv_exchange_answer(struct clv_exchange *exchange);
enum MHD_Result clv_exchange_refuse(
	struct clv_exchange *exchange, const struct clv_error *err);

/* Suspends the connection until a topic is published, the deadline passes or the client
 * hangs up. */
void clv_exchange_suspend(struct clv_exchange *exchange);
/* Takes a suspended exchange out of the list in which it waits. */
void clv_exchange_unlist(struct clv_exchange *exchange);
/* Whether a request that is identified, or refused, can be answered now.  False: it is
 * suspended until its turn. */
bool clv_exchange_has_turn(struct clv_exchange *exchange);
/* The exchange has kept the loop busy since then. */
void clv_exchange_charge(const struct clv_exchange *exchange, uint64_t since_ns);
/* Adds the timer and the deferred event of waiting requests to the agent's loop: 0 or
 * -errno. */
int clv_http_add_sources(struct clv_http *http);
/* Runs the servers, and sets the timer. */
void clv_http_run(struct clv_http *http);
/* Resumes the request whose turn it is, if any waits for one. */
void clv_http_resume_next_turn(struct clv_http *http);

/* Identifies the caller, in the first run or when its user is known: 0, -EINPROGRESS or
 * an error. */
int clv_exchange_admit(struct clv_exchange *exchange, struct clv_error *err);
/* Logs callers without a valid token, at most once in ten seconds. */
void clv_http_note_unauthenticated(
	struct clv_http *http, const char *from, const char *why);
/* Checks the caller of a long request again: its token may have expired meanwhile. */
int clv_http_check_caller(const struct clv_request *request, struct clv_error *err);
bool clv_http_is_stopping(const struct clv_http *http);
