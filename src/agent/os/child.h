/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct clv_error;

/* Runs a program as a child process and collects its output.  Driver libraries are loaded
 * only in such processes: a driver that crashes or hangs takes only the child with it.
 * Loop thread only. */

/* How the child ended.  Valid only during the callback. */
struct clv_child_end {
	bool is_timed_out;  /* its process group was killed */
	int signal;         /* that killed the child; 0: none */
	int status;         /* exit status, without a signal or timeout */
	const char *output; /* its stdout, cut at about 1 MiB; NULL: none */
	size_t n_bytes;
};

struct clv_child;
typedef void (*clv_child_fn)(void *userdata, const struct clv_child_end *end);

/* Starts the program at path with arguments (NULL-terminated) and the agent's
 * environment.  Calls done once, from the loop, when the program has ended or timeout_ns
 * has passed; never after clv_child_free(). */
int clv_child_start(sd_event *event, const char *path, char *const *arguments,
	uint64_t timeout_ns, clv_child_fn done, void *userdata, struct clv_child **ret,
	struct clv_error *err);
/* Kills the child's process group if it still runs, and does not wait for its end: the
 * loop reaps it. */
struct clv_child *clv_child_free(struct clv_child *child);
