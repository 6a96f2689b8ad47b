/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_client_error;
struct clv_locate;
struct clv_transport;

/* The members of a client, private to libcleave. */
struct clv_client {
	struct clv_transport *transport;
	struct clv_locate *where; /* the sockets to try; one once connected */
	bool may_start;           /* start an agent if none answers */
	bool is_ready;            /* connected, and of the right version */
	int interrupt_fd;
	/* Connects to the agent's successor, or starts one (client.c). */
	int (*reconnect)(struct clv_client *client, struct clv_client_error *err);
};
