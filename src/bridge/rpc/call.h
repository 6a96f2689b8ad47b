/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/rpc/link.h"
#include "bridge/rpc/reader.h"
#include "bridge/rpc/service.h"

/* A call as its connection sees it.  It lives for as long as its HTTP/2 stream; its
 * handler knows it until it is finished or ended. */

struct clv_rpc_body {
	uint8_t *data; /* with its prefix */
	size_t n_bytes;
};

struct clv_rpc_connection;
struct clv_rpc_server;

struct clv_rpc_call {
	struct clv_rpc_call *next, *previous;
	struct clv_rpc_connection *connection;
	const struct clv_rpc_method *method;
	int32_t stream;
	struct clv_rpc_reader reader;
	sd_event_source *deadline;
	uint64_t timeout_ns;
	size_t n_header_bytes;
	bool is_grpc, is_post, is_unfit;
	bool is_handled;  /* the handler has had it */
	bool is_done;     /* no answer will come any more: it was finished or ended */
	bool has_headers; /* they were sent */
	struct clv_rpc_body now, next_body;
	size_t n_sent; /* of the field now */
	struct clv_rpc_status status;
	void (*on_end)(void *userdata);
	void *userdata;
};

struct clv_rpc_connection {
	struct clv_rpc_connection *next, *previous;
	struct clv_rpc_server *server;
	/* The server's, borrowed. */
	sd_event *event;
	const struct clv_rpc_service *service;
	struct clv_rpc_link link;
	struct clv_rpc_call *calls;
	size_t n_request_bytes; /* of requests that are not complete */
	unsigned n_resets;      /* by the peer, since it last let a call end well */
};

struct clv_rpc_call *clv_rpc_call_new(
	struct clv_rpc_connection *connection, int32_t stream);
void clv_rpc_call_free(struct clv_rpc_call *call);

/* Headers and the request as they come. */
void clv_rpc_call_take_header(struct clv_rpc_call *call, const uint8_t *name,
	size_t n_name, const uint8_t *value, size_t n_value);
void clv_rpc_call_take_data(
	struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes);
void clv_rpc_call_take_headers_end(struct clv_rpc_call *call);
/* The caller has said all. */
void clv_rpc_call_take_end(struct clv_rpc_call *call);
/* The stream is gone: tells the handler, if it still waits. */
void clv_rpc_call_end(struct clv_rpc_call *call);
