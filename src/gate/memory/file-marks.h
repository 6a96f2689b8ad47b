/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A mark on an open file: two numbers.  It goes with the file to whichever process that
 * is passed to, and is gone when the last of its descriptors is closed.  Files that a
 * driver hands out for memory may all be of one inode, so that nothing else tells them
 * apart.  (It is a read lock of a range of the open file's own, which hinders nobody: it
 * begins at the one and is longer by the other than one byte.)  Any thread. */

#define CLV_FILE_MARK_BITS 62 /* of each number */

struct clv_file_mark {
	uint64_t number, process;
};

/* False: the kernel does not let it. */
bool clv_file_mark_put(int fd, const struct clv_file_mark *mark);

/* The first mark that the file has with a number from first to last.  False: there is
 * none, or it cannot be told. */
bool clv_file_mark_find(int fd, uint64_t first, uint64_t last, struct clv_file_mark *ret);

/* Visits all marks that any open file has.  False: it cannot be told. */
bool clv_file_marks_visit(
	void (*visit)(const struct clv_file_mark *mark, void *userdata), void *userdata);
