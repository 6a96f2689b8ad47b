/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

#include <cleave.h>
#include <jansson.h>

/* Waits until the lease is active, and shows the position in the queue on stderr.  *lease
 * is replaced by newer answers.  Returns 0, or an exit code after printing the error.  A
 * signal on signal_fd (a signalfd) releases the lease and returns 128 + n. */
int clv_queue_wait(struct clv_client *client, const struct clv_opt_wait *wait,
	int signal_fd, json_t **lease);
