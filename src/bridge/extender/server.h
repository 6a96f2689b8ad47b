/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_error;
struct clv_extender;

/* The HTTPS server of the extender.  A caller that can have a pod bound acts with the
 * extender's rights in the cluster, so callers must have a certificate of client_ca
 * unless the server listens on the loopback only. */
struct clv_server;

struct clv_server_options {
	const char *address; /* numeric */
	const char *port;
	const char *certificate, *key; /* PEM files; NULL: no TLS, only on the loopback */
	const char *client_ca;         /* PEM file; NULL: only on the loopback */
};

/* Serves in its own threads until it is freed.  extender is borrowed; options is read
 * only during the call. */
int clv_server_new(struct clv_extender *extender,
	const struct clv_server_options *options, struct clv_server **ret,
	struct clv_error *err);
struct clv_server *clv_server_free(struct clv_server *server);

/* The port that the server listens on; the actual one if options.port is "0". */
unsigned clv_server_port(const struct clv_server *server);
