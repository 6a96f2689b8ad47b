/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process sends another list where its program closed the first one. */
#define CLV_EXPORTED_LISTS 4u

/* The epoll instances with which a gate lists its exported files (arbiter/attach.h). */
struct clv_exported {
	int fds[CLV_EXPORTED_LISTS];
	uint32_t n_fds;
	bool is_partial; /* there were more */
};

/* Adds a list, unless it is known.  Takes the descriptor over. */
void clv_exported_add(struct clv_exported *exported, int fd);
void clv_exported_close(struct clv_exported *exported);

/* Reads how much memory the listed files have; what several files have counts once.
 * False: not all lists are known, or can be read now, and *ret_bytes is unchanged.
 *
 * A child reads, because another process that has the list may keep its lock, as by
 * adding a file that does not answer.  *reader: 0, or the child of an earlier call that
 * hangs; while it does nothing is read. */
bool clv_exported_sum(
	const struct clv_exported *exported, pid_t *reader, uint64_t *ret_bytes);
