/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A number on an open file.  It goes with the file to whichever process that is passed
 * to, and is gone when the last of its descriptors is closed.  Files that a driver hands
 * out for memory may all be of one inode, so that nothing else tells them apart.  (It is
 * a read lock of one byte of the open file's own, which hinders nobody.)  Any thread. */

#define CLV_FILE_MARK_BITS 62

/* False: the kernel does not let it. */
bool clv_file_mark(int fd, uint64_t mark);

/* The first of these that the file has, from first to last; 0: none, or it cannot be
 * told. */
uint64_t clv_file_mark_of(int fd, uint64_t first, uint64_t last);

/* Visits all marks that any open file has.  False: it cannot be told. */
bool clv_file_marks_visit(void (*visit)(uint64_t mark, void *userdata), void *userdata);
