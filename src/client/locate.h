/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clv_client_error;
struct clv_client_options;

#define CLV_LOCATE_PATH_MAX 4096

/* The sockets where an agent may listen, in the order of the search, and the folders of
 * an agent that is started.  Plain data. */
struct clv_locate {
	char paths[2][CLV_LOCATE_PATH_MAX];
	unsigned int n_paths;
	bool is_chosen; /* by the caller or CLEAVE_SOCKET: no other is tried */
	char folder[CLV_LOCATE_PATH_MAX]; /* of its sockets; the last path is in it */
	char state[CLV_LOCATE_PATH_MAX];  /* "": the agent's default */
	char sim[CLV_LOCATE_PATH_MAX];    /* a simulated node; "": the real one */
};

/* Fills *ret from the options and the environment.  0 or -errno. */
int clv_locate_list(const struct clv_client_options *options, struct clv_locate *ret,
	struct clv_client_error *err);

/* Returns 1 if a trusted process listens on the socket, 0 if none listens, or -errno,
 * also for a socket of another user, which is never used.  A listener whose queue is full
 * is waited for: for so long, or (0) not at all. */
#define CLV_LOCATE_WAIT_MS 1000u
int clv_locate_probe(const char *path, uint32_t wait_ms, struct clv_client_error *err);
