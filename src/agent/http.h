/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/processes.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_agent;
struct clv_error;
struct MHD_Connection;

/* What a request may wait for; clv_http_wake() has it looked at again. */
#define CLV_TOPIC_LEASES 1u
#define CLV_TOPIC_EVENTS 2u
#define CLV_TOPIC_DEVICES 4u
#define CLV_TOPIC_HARDWARE 8u /* a survey was answered, an operation moved */

/* HTTP/1.1 on a Unix socket, inside the agent's loop: libmicrohttpd's epoll set is one
 * more descriptor of the loop, and a long poll is a suspended connection. */
struct clv_http;

/* One request.  Handlers read the upper part and fill the lower one. */
struct clv_request {
	struct clv_agent *agent;
	struct MHD_Connection *connection;
	int fd; /* the connection's socket */
	const char *method;
	const char *path;
	struct clv_peer peer; /* without a start time: see clv_process_of_socket() */
	const char *body;
	size_t n_body_bytes;
	bool is_first_run; /* false: woken up after a wait */
	bool is_late;      /* its wait is over */
	char note[64];     /* the handler's own, kept from run to run */
	uint64_t number;   /* the same */

	unsigned int status;
	json_t *answer; /* taken; NULL: empty */
};

/* The query's argument, or NULL. */
const char *clv_request_argument(const struct clv_request *request, const char *name);

/* From a handler: run me again when one of the topics is woken or wait_ms after the first
 * run.  Returns -EINPROGRESS for the handler to return. */
int clv_request_wait(struct clv_request *request, unsigned int topics, uint64_t wait_ms);

/* Takes the listening socket in every case. */
int clv_http_new(struct clv_agent *agent, int listen_fd, struct clv_http **ret,
	struct clv_error *err);
struct clv_http *clv_http_free(struct clv_http *http);

/* Borrowed. */
int clv_http_listen_fd(const struct clv_http *http);

void clv_http_wake(struct clv_http *http, unsigned int topics);

/* For the idle rule: requests that wait. */
size_t clv_http_count_waiting(const struct clv_http *http);
