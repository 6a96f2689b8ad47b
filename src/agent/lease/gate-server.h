/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_attached;
struct clv_error;
struct clv_lease;

/* The socket of one lease, where gates attach (arbiter/attach.h).  Loop thread only. */
struct clv_gate_server;

int clv_gate_server_new(
	struct clv_lease *lease, struct clv_gate_server **ret, struct clv_error *err);
/* Ends all its connections. */
struct clv_gate_server *clv_gate_server_free(struct clv_gate_server *server);

/* The adopted lease is settled: gates that had to wait are served. */
void clv_gate_server_resume(struct clv_gate_server *server);
