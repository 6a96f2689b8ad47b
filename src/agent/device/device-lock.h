/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;

/* One machine-wide lock per device, so that two agents never divide the same one.  The
 * lock file holds who has it, as text for the other's message; whether it is held is the
 * kernel's word.  Returns the descriptor that holds the lock; -EADDRINUSE names the
 * holder; -EACCES when the folder cannot be used (try another). */
int clv_device_lock(const char *folder, const char *uuid, const char *socket_path,
	struct clv_error *err);
