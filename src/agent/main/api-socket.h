/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_agent;
struct clv_error;

/* The API's Unix socket, in the runtime folder or from the service manager. */

/* Takes the socket from the service manager, or creates it, and serves the API on it. */
int clv_api_socket_serve(struct clv_agent *agent, struct clv_error *err);

/* At the end: removes the socket's path, unless the service manager keeps the socket. */
void clv_api_socket_remove(const struct clv_agent *agent);

/* Before an agent that was started on demand ends: removes the socket's path, unless the
 * service manager keeps it.  False: a client has just connected, and the agent must
 * continue. */
bool clv_api_socket_try_remove(struct clv_agent *agent);
