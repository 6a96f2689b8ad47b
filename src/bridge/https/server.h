/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_error;

/* An HTTPS server that answers JSON with JSON, for the API server and the scheduler. */
struct clv_server;

struct clv_server_options {
	const char *address; /* numeric */
	const char *port;
	/* PEM files, read again when they have changed; NULL: no TLS, only on the
	 * loopback. */
	const char *certificate, *key;
	const char *client_ca; /* PEM file: callers need a certificate of it; or NULL */
	/* What a caller could do, as a part of a sentence: then client_ca is needed
	 * except on the loopback.  NULL: nothing, so that TLS suffices. */
	const char *danger;
	size_t body_max_bytes;
	/* Answers the body of a POST; called by several threads.  Returns a new
	 * reference, or NULL with *ret_status (an HTTP status) and err set: the answer is
	 * the line of err. */
	json_t *(*answer)(void *userdata, const char *path, const json_t *body,
		unsigned *ret_status, struct clv_error *err);
	/* Answers /readyz: whether requests can be answered now, and a line about it.
	 * NULL: always.  Called by several threads. */
	bool (*is_ready)(void *userdata, char *ret_line, size_t n_bytes);
	void *userdata; /* of both; borrowed */
};

/* Serves in its own threads until it is freed; /healthz and /readyz are answered to all.
 * The texts of options are read only during the call.  One server of a process may have
 * TLS. */
int clv_server_new(const struct clv_server_options *options, struct clv_server **ret,
	struct clv_error *err);
struct clv_server *clv_server_free(struct clv_server *server);

/* Splits ADDRESS:PORT in place into the options' two texts; an IPv6 address may have
 * brackets, "[::1]:8888".  -EINVAL: it has another form. */
int clv_server_split_address(char *text, struct clv_server_options *options);

/* The port that the server listens on; the actual one if options.port is "0". */
unsigned clv_server_port(const struct clv_server *server);
