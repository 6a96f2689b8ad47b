/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;

/* Takes the machine-wide lock of a device, so that two agents never divide the same one.
 * The kernel's lock decides; the text in the file only names the holder in the error
 * message of other agents.  Returns the descriptor that holds the lock.  -EADDRINUSE:
 * another agent has it; -EACCES: the folder cannot be used (try another). */
int clv_device_lock(const char *folder, const char *uuid, const char *socket_path,
	struct clv_error *err);
