/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_error;
struct clv_request;
struct clv_route;

/* Requests that must not be carried out twice.  A request with an Idempotency-Key is
 * carried out once; for a day, the same request with the same key is answered with the
 * object that the first one created.  Key and object are stored in one transaction, so
 * that a crash of the agent cannot separate them. */

/* Before the handler: 1 when the request is already answered, 0 to call the handler (a
 * key, if there is one, is then the current key), or an error. */
int clv_idempotency_begin(struct clv_request *request, const struct clv_route *route,
	struct clv_error *err);

/* After the handler. */
void clv_idempotency_end(struct clv_request *request, int result);

/* Drops keys that are older than a day. */
void clv_idempotency_forget(struct clv_agent *agent);
