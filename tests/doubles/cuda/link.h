/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "wire.h"
#include <stdbool.h>

/* The machine's socket, and messages with at most two files on it. */

#define DCU_FILES_MAX 2

struct dcu_files {
	int fds[DCU_FILES_MAX];
	int n;
};

/* A socket that is connected to the machine of the folder, or -1. */
int dcu_link_open(const char *folder);

/* The socket to listen on, in the current folder, or -1. */
int dcu_link_listen(void);

bool dcu_link_send(
	int fd, const struct dcu_message *message, const struct dcu_files *files);

/* False at the end of the socket.  The caller owns the files. */
bool dcu_link_receive(int fd, struct dcu_message *ret, struct dcu_files *ret_files);
