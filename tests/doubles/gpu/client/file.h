/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* An exported file: a description that every process can read which gets the file. Like a
 * driver's it can be polled; each has an inode of its own. */

/* -1: it cannot be made. */
int dgp_file_new(const void *description, size_t n_bytes);
bool dgp_file_read(int fd, void *ret_description, size_t n_bytes);
