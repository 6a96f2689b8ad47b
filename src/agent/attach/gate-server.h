/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_attached;
struct clv_error;
struct clv_lease;

/* The server of one lease's socket, where gates attach (arbiter/attach.h).  Loop thread
 * only. */
struct clv_gate_server;

int clv_gate_server_new(
	struct clv_lease *lease, struct clv_gate_server **ret, struct clv_error *err);
/* Closes the socket and all connections. */
struct clv_gate_server *clv_gate_server_free(struct clv_gate_server *server);

/* Ends the wait for the report page after an adoption, and attaches the gates that waited
 * for it or for device numbers that are now known. */
void clv_gate_server_resume(struct clv_gate_server *server);
