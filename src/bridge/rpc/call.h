/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/rpc/link.h"
#include "bridge/rpc/reader.h"
#include "bridge/rpc/service.h"

/* The server's side of a call.  It lives as long as its HTTP/2 stream; its handler may
 * use it until it is finished or has ended. */

struct clv_rpc_body {
	uint8_t *data; /* owned; a message with gRPC's prefix */
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
	bool is_grpc, is_post;
	bool is_unfit;                 /* grpc-timeout is malformed */
	bool is_handled;               /* the request was passed to the handler */
	bool is_done;                  /* finished or ended: no answer follows */
	bool has_headers;              /* the answer's headers were submitted */
	struct clv_rpc_body now;       /* the message that is being sent */
	struct clv_rpc_body next_body; /* the message to send after it */
	size_t n_sent;                 /* bytes of `now` that were sent */
	struct clv_rpc_status status;
	void (*on_end)(void *userdata);
	void *userdata;
};

struct clv_rpc_connection {
	struct clv_rpc_connection *next, *previous;
	struct clv_rpc_server *server;
	sd_event *event;                       /* the server's, borrowed */
	const struct clv_rpc_service *service; /* the server's, borrowed */
	struct clv_rpc_link link;
	struct clv_rpc_call *calls;
	size_t n_request_bytes; /* memory of incomplete requests */
	unsigned n_resets;      /* RST_STREAM frames since the last call that completed */
};

struct clv_rpc_call *clv_rpc_call_new(
	struct clv_rpc_connection *connection, int32_t stream);
void clv_rpc_call_free(struct clv_rpc_call *call);

/* Process parts of the request as they arrive. */
void clv_rpc_call_on_header(struct clv_rpc_call *call, const uint8_t *name, size_t n_name,
	const uint8_t *value, size_t n_value);
void clv_rpc_call_on_data(struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes);
void clv_rpc_call_on_headers_end(struct clv_rpc_call *call);
/* The request is complete: calls the handler. */
void clv_rpc_call_on_end(struct clv_rpc_call *call);
/* The stream is closed: calls on_end unless the call is finished. */
void clv_rpc_call_end(struct clv_rpc_call *call);
