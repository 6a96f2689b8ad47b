/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What an epoll instance watches.  An instance keeps none of its files open: the kernel
 * removes a file when the last descriptor of it is closed, in whichever process, or in a
 * message on its way.  So a list of the instance shows which files still exist. */

/* Whether the descriptor is an epoll instance. */
bool clv_watched_is_list(int fd);

/* Visits the data of each watched file (struct epoll_event).  False: the list cannot be
 * read, and some may not have been visited. */
bool clv_watched_visit(
	int fd, void (*visit)(uint64_t data, void *userdata), void *userdata);
