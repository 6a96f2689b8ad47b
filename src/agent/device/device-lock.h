/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct clv_error;

/* A folder of lock files.  Private: only root can write it, and other users cannot open
 * the files in it; else every user's agent can lock them. */
struct clv_lock_folder {
	const char *path;
	bool is_private;
};

/* Takes the machine-wide lock of a device, so that two agents never divide the same one.
 * The kernel's lock decides; the text in a private file only names the holder in the
 * error message of other agents.  Returns the descriptor that holds the lock.
 * -EADDRINUSE: another agent has it; -EACCES: the folder cannot be used (try another). */
int clv_device_lock(const struct clv_lock_folder *folder, const char *uuid,
	const char *socket_path, struct clv_error *err);

/* The process that has the lock of the device in this folder, without taking it; 0: none
 * that can be seen. */
pid_t clv_device_lock_holder(const char *folder, const char *uuid);
/* Sets the error of a device that this process (0: an unknown one) has locked. */
int clv_device_lock_refuse(pid_t holder, struct clv_error *err);
