/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

#include <jansson.h>
#include <stdbool.h>

struct clv_client;
struct clv_client_error;

/* A command that changes the node: it asks for confirmation and follows the agent's
 * operation.  Signals are read from a descriptor, so that an interrupted command can say
 * whether the operation continues.  The caller owns the storage. */
struct clv_change {
	const struct clv_common *common;
	bool is_confirmed; /* --yes: do not ask */
	struct clv_client *client;
	int signal_fd;
};

/* Connects to the agent, or starts one.  Returns 0, or an exit code after printing the
 * error.  The caller calls clv_change_end() in both cases. */
int clv_change_begin(
	const struct clv_common *common, bool is_confirmed, struct clv_change *ret);
void clv_change_end(struct clv_change *change);
#define _cleanup_change_ __attribute__((cleanup(clv_change_end)))

/* Prints an error of libcleave and returns its exit code; for an interrupt it only
 * returns the exit code of the signal. */
int clv_change_fail(const struct clv_change *change, const struct clv_client_error *err);

/* The same for the request that begins the operation.  An interrupt is reported as well,
 * since the agent may have accepted the request already. */
int clv_change_fail_start(
	const struct clv_change *change, const struct clv_client_error *err);

/* Asks the question ("Apply?") on a terminal; elsewhere --yes is needed if loss is set,
 * which names what would be lost.  Returns 0 to continue, or an exit code after printing
 * the error. */
int clv_change_confirm(
	const struct clv_change *change, const char *question, const char *loss);

/* Prints an operation that has ended: as JSON or YAML, or as one line if it succeeded.
 * Returns exit_code, or that of a failed write. */
int clv_change_report(
	const struct clv_change *change, const json_t *operation, int exit_code);

/* Follows an operation to its end, over restarts of the agent, and shows its progress on
 * stderr.  *operation is replaced by newer states.  Returns an exit code. */
int clv_change_follow(struct clv_change *change, json_t **operation);
