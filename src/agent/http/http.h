/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/auth/caller.h"
#include "agent/os/processes.h"
#include "agent/record/notify.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_agent;
struct clv_error;
struct MHD_Connection;

/* HTTP/1.1 on a Unix socket and on TCP, inside the agent's loop: libmicrohttpd's epoll
 * set is one more descriptor of the loop, and a long poll is a suspended connection. */
struct clv_http;

#define CLV_REQUEST_MAX_BYTES 65536u /* of a body */
#define CLV_REQUEST_NO_ROUTE SIZE_MAX
#define CLV_HEADERS_MAX 16u
#define CLV_ARGUMENT_MAX 128u

/* One request.  Handlers read the upper part and fill the lower one. */
struct clv_request {
	struct clv_agent *agent;
	struct MHD_Connection *connection;
	int fd; /* the connection's socket */
	const char *method;
	const char *path;
	struct clv_caller caller;
	bool is_local; /* on the Unix socket: its peer is a process of this machine */
	const char *body;
	size_t n_body_bytes;
	bool is_too_large; /* the body exceeded the limit and is incomplete */
	bool is_first_run; /* false: it runs again after a wait */
	bool is_late;      /* the time of its wait is over */
	char note[64];     /* for the handler, kept between its runs */
	uint64_t number;   /* the same */
	size_t route;      /* number of the route; CLV_REQUEST_NO_ROUTE: none matches */
	uint64_t busy_ns;  /* time in the handler, in all runs */

	/* For the audit: the object, if the path does not name it, and details. */
	char object[96];
	char detail[256];
	unsigned int status;
	/* The answer is one of these, or empty: JSON; text, which is owned; file, which
	 * is static; a stream. */
	json_t *answer;
	char *text;
	const void *file;
	size_t n_bytes;           /* of text or file */
	const char *content_type; /* of text, file or stream; static */
	/* Writes new data to room and returns its length; 0: there is none yet, and the
	 * stream runs again after clv_request_wait(). */
	size_t (*stream)(struct clv_request *request, char *room, size_t n_room_bytes);
	struct {
		const char *name; /* static */
		char *value;      /* owned */
	} headers[CLV_HEADERS_MAX];
	size_t n_headers;
};

/* How an answer of JSON is written. */
#define CLV_ANSWER_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(12))

/* A query argument, or a header of the request; NULL: there is none. */
const char *clv_request_argument(const struct clv_request *request, const char *name);
const char *clv_request_header(const struct clv_request *request, const char *name);

/* The first name in the query for which fits returns true; NULL: there is none.  value:
 * NULL if the name has no '='. */
const char *clv_request_find_argument(const struct clv_request *request,
	bool (*fits)(const char *name, const char *value, void *userdata),
	void *userdata);

/* Adds a header to the answer; the name is static. */
void clv_request_set_header(struct clv_request *request, const char *name,
	const char *format, ...) __attribute__((format(printf, 3, 4)));

/* For a handler, which returns the result, -EINPROGRESS: it runs again when one of the
 * topics is published, or wait_ms after the first call. */
int clv_request_wait(struct clv_request *request, unsigned int topics, uint64_t wait_ms);

/* For a request whose user is not known yet: waits for the user database and returns
 * -EINPROGRESS, or an error when the database has not answered for too long. */
int clv_http_await_user(struct clv_request *request, struct clv_error *err);

/* The interpreter of requests.  handle returns 0 with status and answer set, -EINPROGRESS
 * if the request waits, or an error for a problem document.  leave is called for a
 * request that has waited and gets no answer, because the client is gone or the agent
 * stops.  is_public: the request needs no authentication. */
struct clv_http_handler {
	int (*handle)(struct clv_request *request, struct clv_error *err);
	void (*leave)(struct clv_request *request);
	bool (*is_public)(const struct clv_request *request);
};

/* The handler is static. */
int clv_http_new(struct clv_agent *agent, const struct clv_http_handler *handler,
	struct clv_http **ret, struct clv_error *err);
struct clv_http *clv_http_free(struct clv_http *http);

/* A listening socket and its protocol.  clv_http_listen() takes fd also when it fails. */
struct clv_http_listener {
	int fd;
	bool is_unix;
	const char *certificate, *key; /* PEM, copied; NULL: no TLS */
};
int clv_http_listen(struct clv_http *http, const struct clv_http_listener *listener,
	struct clv_error *err);

/* The certificate and key (PEM) of handshakes from now on; NULL: none. */
int clv_http_set_certificate(
	const char *certificate, const char *key, struct clv_error *err);

/* The descriptor of the Unix socket, borrowed; -1: there is none. */
int clv_http_listen_fd(const struct clv_http *http);

/* Runs the handlers of requests that wait for one of the topics. */
void clv_http_wake(struct clv_http *http, unsigned int topics);

/* The number of waiting requests and streams; the agent does not exit for idleness while
 * there are any. */
size_t clv_http_count_waiting(const struct clv_http *http);

/* True while a connection has a request that was not read yet. */
bool clv_http_has_input(const struct clv_http *http);
