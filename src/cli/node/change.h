/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

#include <jansson.h>
#include <stdbool.h>

struct clv_client;
struct clv_client_error;

/* A command that changes the node: it asks first, and follows what the agent then does.
 * From its beginning Ctrl-C is read from a descriptor, so that it can say what becomes of
 * the change.  The caller owns the storage. */
struct clv_change {
	const struct clv_common *common;
	bool is_confirmed; /* by --yes: it does not ask */
	struct clv_client *client;
	int signal_fd;
};

/* 0, or an exit code after having said why.  To be ended in either case. */
int clv_change_begin(
	const struct clv_common *common, bool is_confirmed, struct clv_change *ret);
void clv_change_end(struct clv_change *change);
#define _cleanup_change_ __attribute__((cleanup(clv_change_end)))

/* The exit code for what libcleave reported, after having said it; for an interrupt, that
 * of the signal. */
int clv_change_fail(const struct clv_change *change, const struct clv_client_error *err);

/* The same for a request to begin the change: an interrupt may have come too late. */
int clv_change_fail_start(
	const struct clv_change *change, const struct clv_client_error *err);

/* 0: go on.  On a terminal it asks ("Apply?"); elsewhere --yes is needed when something
 * would be lost, which loss names.  Else an exit code after having said why. */
int clv_change_confirm(
	const struct clv_change *change, const char *question, const char *loss);

/* What became of an operation that exit_code tells of: the object for programs, a line
 * for people when all went well.  Returns exit_code, or that of a failed write. */
int clv_change_report(
	const struct clv_change *change, const json_t *operation, int exit_code);

/* Follows an operation to its end, whatever becomes of the agent, and tells its progress
 * on stderr.  *operation is replaced by its newer states.  The exit code. */
int clv_change_follow(struct clv_change *change, json_t **operation);
