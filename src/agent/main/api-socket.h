/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_agent;
struct clv_error;

/* The API's Unix socket, in the runtime folder or from the service manager. */

int clv_api_socket_serve(struct clv_agent *agent, struct clv_error *err);

/* At the end; a socket that the service manager keeps stays. */
void clv_api_socket_remove(const struct clv_agent *agent);

/* Before an agent on demand ends: takes the socket out of sight.  False: a client has
 * just connected, and the agent must stay. */
bool clv_api_socket_leave(struct clv_agent *agent);
