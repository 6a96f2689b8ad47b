/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_error;
struct clv_extender;

/* HTTPS for the extender.  Whoever may ask it to bind a pod acts with its rights in the
 * cluster: so callers show a certificate of client_ca, unless nobody but this machine can
 * call. */
struct clv_server;

struct clv_server_options {
	const char *address; /* in numbers */
	const char *port;
	const char *certificate,
		*key;          /* files, PEM; NULL: no TLS, on the loopback alone */
	const char *client_ca; /* the same; NULL: on the loopback alone */
};

/* Serves until it is freed, from threads of its own. */
int clv_server_new(struct clv_extender *extender,
	const struct clv_server_options *options, struct clv_server **ret,
	struct clv_error *err);
struct clv_server *clv_server_free(struct clv_server *server);

/* The port that it listens on, also where 0 was asked for. */
unsigned clv_server_port(const struct clv_server *server);
