/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_error;
struct clv_request;
struct clv_route;

/* Requests that must not be done twice: one that comes with an Idempotency-Key of its
 * caller's is done once, and the same request with the same key is answered with what
 * that made, for a day.  The key is written down together with what is made, so that no
 * death of the agent comes between. */

/* Before the handler: 1 when the answer is there already, 0 to go on (with the key noted
 * as the current one, if there is one), or an error. */
int clv_once_begin(struct clv_request *request, const struct clv_route *route,
	struct clv_error *err);

/* After the handler. */
void clv_once_end(struct clv_request *request, int result);

/* Forgets what is older than a day. */
void clv_once_forget(struct clv_agent *agent);
