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
	bool is_too_large; /* there is more of it, which was not kept */
	bool is_first_run; /* false: woken up after a wait */
	bool is_late;      /* its wait is over */
	char note[64];     /* the handler's own, kept from run to run */
	uint64_t number;   /* the same */
	size_t route;      /* its number; CLV_REQUEST_NO_ROUTE: none was found */
	uint64_t busy_ns;  /* of all its runs */

	/* For the audit, where the path does not say it: what it is about, and how. */
	char object[96];
	char detail[256];
	unsigned int status;
	/* The answer is one of these: JSON; text that is owned, or that lives as long as
	 * the program; or a stream.  None: it is empty. */
	json_t *answer;
	char *text;
	const void *file;
	size_t n_bytes;           /* of text or file */
	const char *content_type; /* of these; static */
	/* Writes what is new and returns how much; 0: nothing at present, ask again after
	 * clv_request_wait(). */
	size_t (*stream)(struct clv_request *request, char *room, size_t n_room_bytes);
	struct {
		const char *name; /* static */
		char *value;      /* owned */
	} headers[CLV_HEADERS_MAX];
	size_t n_headers;
};

/* The query's argument, or NULL; the request's header, or NULL. */
const char *clv_request_argument(const struct clv_request *request, const char *name);
const char *clv_request_header(const struct clv_request *request, const char *name);

/* Adds a header to the answer; the name is static. */
void clv_request_set_header(struct clv_request *request, const char *name,
	const char *format, ...) __attribute__((format(printf, 3, 4)));

/* From a handler: run me again when one of the topics is woken or wait_ms after the first
 * run.  Returns -EINPROGRESS for the handler to return. */
int clv_request_wait(struct clv_request *request, unsigned int topics, uint64_t wait_ms);

/* What the server does with requests.  handle returns 0 with status and answer set,
 * -EINPROGRESS when the request waits, or an error for a problem document; leave is
 * called for a request that has no answer yet and whose caller is gone; is_public: a
 * caller whom nobody knows may ask this. */
struct clv_http_handler {
	int (*handle)(struct clv_request *request, struct clv_error *err);
	void (*leave)(struct clv_request *request);
	bool (*is_public)(const struct clv_request *request);
};

/* The handler is static. */
int clv_http_new(struct clv_agent *agent, const struct clv_http_handler *handler,
	struct clv_http **ret, struct clv_error *err);
struct clv_http *clv_http_free(struct clv_http *http);

/* A listening socket, taken in every case, and how it is spoken on. */
struct clv_http_listener {
	int fd;
	bool is_unix;
	const char *certificate, *key; /* PEM, copied; NULL: no TLS */
};
int clv_http_listen(struct clv_http *http, const struct clv_http_listener *listener,
	struct clv_error *err);

/* Of the Unix socket; borrowed. */
int clv_http_listen_fd(const struct clv_http *http);

/* Runs the handlers of requests that wait for one of the topics. */
void clv_http_wake(struct clv_http *http, unsigned int topics);

/* For the idle rule: requests that wait, streams among them. */
size_t clv_http_count_waiting(const struct clv_http *http);
