/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_error;
struct clv_request;
struct clv_route;

/* Idempotency keys.  A request with an Idempotency-Key is carried out once; for a day the
 * same request with the same key is answered with the object that the first one created.
 * Key and object are stored in one transaction, so that a crash cannot separate them. */

/* Call before the handler. 1: the request is answered; 0: call the handler (the key, if
 * any, is now the agent's current key); or an error. */
int clv_idempotency_begin(struct clv_request *request, const struct clv_route *route,
	struct clv_error *err);

/* Call after the handler, with its result. */
void clv_idempotency_end(struct clv_request *request, int result);

/* Deletes keys that are older than a day. */
void clv_idempotency_forget(struct clv_agent *agent);
