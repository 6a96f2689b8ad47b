/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A mark on an open file description: two numbers.  It is passed on with the file to
 * other processes, and is gone when the last of its descriptors is closed.  Files that a
 * driver exports for memory may all share one inode, so nothing else identifies them.
 * (The mark is an OFD read lock, which conflicts with no other: it begins at `number` and
 * is `process` + 1 bytes long.) Any thread. */

#define CLV_FILE_MARK_BITS 62 /* of each number */

struct clv_file_mark {
	uint64_t number, process;
};

/* Sets a mark.  False: the kernel refused. */
bool clv_file_mark_put(int fd, const struct clv_file_mark *mark);

/* Finds the file's first mark with a number from first to last.  False: there is none, or
 * the marks cannot be read. */
bool clv_file_mark_find(int fd, uint64_t first, uint64_t last, struct clv_file_mark *ret);
