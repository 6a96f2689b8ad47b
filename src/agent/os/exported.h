/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process sends another list if its program has closed the descriptor of the first one.
 */
#define CLV_EXPORTED_LISTS 4u

/* The epoll instances with which a gate lists its exported files (arbiter/attach.h). */
struct clv_exported {
	int fds[CLV_EXPORTED_LISTS];
	uint32_t n_fds;
	bool is_partial; /* there were more */
};

/* Adds a list, unless it was added before.  The descriptor is taken in every case. */
void clv_exported_add(struct clv_exported *exported, int fd);
void clv_exported_close(struct clv_exported *exported);

/* Sums the memory of the listed files; memory that several files have counts once.
 * False: not all lists are known, or one cannot be read now, and *ret_bytes is unchanged.
 *
 * The lists are read by a child process, because another process that has a list can keep
 * the lock of the epoll instance, for example while it adds a file that does not answer.
 * *reader: 0, or the child of an earlier call that hangs; as long as that child exists
 * nothing is read. */
bool clv_exported_sum(
	const struct clv_exported *exported, pid_t *reader, uint64_t *ret_bytes);
