/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct clv_error;

/* A program that asks drivers something: one that crashes or hangs takes only its own
 * process with it.  Loop thread only. */

/* How it ended.  Borrowed. */
struct clv_child_end {
	bool is_timed_out;  /* and killed, with all that it started */
	int signal;         /* that ended it; 0: none */
	int status;         /* of an exit of its own */
	const char *output; /* what it wrote to stdout, at most a MiB; NULL: nothing */
	size_t n_bytes;
};

struct clv_child;
typedef void (*clv_child_fn)(void *userdata, const struct clv_child_end *end);

/* Starts path with the arguments (NULL ends them) and the agent's environment.  done is
 * called once, from the loop. */
int clv_child_start(sd_event *event, const char *path, char *const *arguments,
	uint64_t timeout_ns, clv_child_fn done, void *userdata, struct clv_child **ret,
	struct clv_error *err);
/* Kills it if it still runs. */
struct clv_child *clv_child_free(struct clv_child *child);
