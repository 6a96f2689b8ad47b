/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../wire.h"
#include <stdbool.h>

/* The threads that do what the machine asks of this process: one sees to bytes that the
 * program may look at without asking whether they are there, and to values in memory that
 * a stream or a kernel waits for; one calls the program's functions, which may wait for
 * either. */

struct host_task {
	void (*call)(struct host_task *task); /* NULL: wait for the value */
	void *fn, *user, *handle;
	const char *value_at;
	uint64_t value;
	unsigned how, bytes; /* how the values are compared, and how long they are */
};

/* Starts them; false where there can be none. */
bool dgp_helper_start(void);

/* What a kernel does that waits for a word of memory. */
struct dgp_spin {
	const char *at; /* a u32 that is to reach the value, cyclically */
	uint32_t value;
	char *out; /* NULL: it writes nothing */
	uint32_t out_value;
	uint32_t turns; /* after each of them both values are one more */
};

/* Completes the command of such a kernel, for which memory must be watched. */
void dgp_spin_cmd(const struct dgp_spin *spin, struct dgp_cmd *cmd);

/* From now on what commands do to memory is done when they end, for somebody may look at
 * it who does not ask whether they have: a kernel, another process.  False where there
 * can be no helper. */
bool dgp_watch_memory(void);
