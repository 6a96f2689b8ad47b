/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "wire.h"
#include <stdbool.h>

/* The machine's socket, and messages with at most two files. */

#define DGP_FILES_MAX 2

struct dgp_files {
	int fds[DGP_FILES_MAX];
	int n;
};

/* Returns a socket connected to the machine of the folder, or -1. */
int dgp_link_open(const char *folder);

/* Returns the socket to listen on, in the current folder, or -1. */
int dgp_link_listen(void);

bool dgp_link_send(
	int fd, const struct dgp_message *message, const struct dgp_files *files);

/* False at the end of the connection. The caller owns the files. */
bool dgp_link_receive(int fd, struct dgp_message *ret, struct dgp_files *ret_files);
