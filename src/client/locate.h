/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_client_error;
struct clv_client_options;

#define CLV_LOCATE_PATH_MAX 4096

/* Where an agent may listen, in the order in which to look, and what one that is started
 * here is told.  Plain data. */
struct clv_locate {
	char paths[2][CLV_LOCATE_PATH_MAX];
	unsigned int n_paths;
	bool is_chosen; /* by the caller or by CLEAVE_SOCKET: look nowhere else */
	char folder[CLV_LOCATE_PATH_MAX]; /* of its sockets; the last path is in it */
	char state[CLV_LOCATE_PATH_MAX];  /* "": its own choice */
	char sim[CLV_LOCATE_PATH_MAX];    /* a simulated node; "": the real one */
};

int clv_locate_list(const struct clv_client_options *options, struct clv_locate *ret,
	struct clv_client_error *err);

/* Whether somebody listens there who may be trusted: 1 yes, 0 nobody does, or an error: a
 * socket of another user is never spoken to. */
int clv_locate_probe(const char *path, struct clv_client_error *err);
