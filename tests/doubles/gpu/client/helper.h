/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../wire.h"
#include <stdbool.h>

/* The threads that carry out the machine's requests to this process. One applies effects
 * to memory that the program may read without a call, and polls values that a stream or a
 * kernel waits for; the other calls the program's functions, which may wait for
 * either. */

struct host_task {
	void (*call)(struct host_task *task); /* NULL: wait for the value */
	void *fn, *user, *handle;
	const char *value_at;
	uint64_t value;
	unsigned how, bytes; /* how the values are compared, and their size */
};

/* Starts them; returns false where no thread can be created. */
bool dgp_helper_start(void);

/* The work of a kernel that waits for a word of memory. */
struct dgp_spin {
	const char *at; /* a u32; the wait ends when it reaches the value, cyclically */
	uint32_t value;
	char *out; /* NULL: it does not write */
	uint32_t out_value;
	uint32_t turns; /* after each of them both values are increased */
};

/* Completes the command of such a kernel, for which memory must be watched. */
void dgp_spin_cmd(const struct dgp_spin *spin, struct dgp_cmd *cmd);

/* From now on the effects of commands are applied when the commands end, because a kernel
 * or another process may read memory without asking for completion. Returns false where
 * no helper can be started. */
bool dgp_watch_memory(void);
