/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/http.h"

#include <microhttpd.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

/* What the files of the HTTP server share. */

/* A request with what only the server knows of it. */
struct clv_exchange {
	TAILQ_ENTRY(clv_exchange) entry; /* while suspended */
	struct clv_http *http;
	struct clv_request request;
	char *body;
	size_t room;
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
