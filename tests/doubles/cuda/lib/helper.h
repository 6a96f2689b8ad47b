/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* The thread that does what the machine asks of this process: calls of the program's
 * functions, values in memory that a stream waits for, and bytes that the program may
 * look at without asking whether they are there. */

struct host_task {
	void (*call)(struct host_task *task); /* NULL: wait for the value */
	void *fn, *user, *handle;
	const char *value_at;
	uint64_t value;
	unsigned how, bytes; /* how the values are compared, and how long they are */
};

/* Starts it; false where there can be none. */
bool dcu_helper_start(void);
