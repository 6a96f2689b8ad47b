/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_error;

/* Serves the API over TCP if the settings have a port, with TLS if they name a
 * certificate. */
int clv_network_serve(struct clv_agent *agent, struct clv_error *err);
