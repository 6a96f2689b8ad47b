/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "cli/frame/opt.h"

#include <cleave.h>
#include <jansson.h>

/* What all verbs share: exit codes, error messages, the connection to the agent.  For one
 * thread only. */

enum clv_exit {
	CLV_EXIT_OK = 0,
	CLV_EXIT_FALSE = 1,
	CLV_EXIT_USAGE = 64,
	CLV_EXIT_NO_INPUT = 66,
	CLV_EXIT_UNREACHABLE = 69,
	CLV_EXIT_NO_FIT = 75,
	CLV_EXIT_NOT_PERMITTED = 77,
	CLV_EXIT_BAD_FILE = 78,
	CLV_EXIT_FAILED = 125,
	CLV_EXIT_NOT_EXECUTABLE = 126,
	CLV_EXIT_NOT_FOUND = 127,
	CLV_EXIT_SIGNAL = 128, /* plus the signal's number */
};

/* The exit code of an error code of the API or of libcleave, as in docs/api.md;
 * CLV_EXIT_FAILED for an unknown code. */
int clv_cli_exit_code(const char *code);

/* Errors are printed by this function; NULL: as below. */
void clv_cli_print_errors_by(void (*print)(const char *line));

/* Prints "cleave: ..." on stderr; returns exit_code. */
int clv_cli_fail(int exit_code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints an error of libcleave and returns its exit code. */
int clv_cli_fail_client(const struct clv_client_error *err);

/* As clv_cli_fail_client(), with the name of the lease before the message. */
int clv_cli_fail_named(const char *name, const struct clv_client_error *err);

/* The client options for the agent that --socket or --sim selects. */
struct clv_client_options clv_cli_options(
	const struct clv_common *common, bool start_agent);

/* A simulated node whose file is invalid has no devices but a problem text.  Prints that
 * text and returns an exit code; returns 0 for all other nodes. */
int clv_cli_check_sim(const struct clv_common *common, struct clv_client *client);

/* Connects to the agent; with start_agent starts the user's own if none runs.  Returns 0,
 * or an exit code after printing the error; the caller frees *ret in both cases. */
int clv_cli_connect(
	const struct clv_common *common, bool start_agent, struct clv_client **ret);

/* Connects, fetches a list and prints it in the user's format.  Returns an exit code. */
struct clv_listing;
int clv_cli_list(const struct clv_common *common, bool start_agent,
	int (*fetch)(
		struct clv_client *client, json_t **ret, struct clv_client_error *err),
	const struct clv_listing *listing);

CLV_DEFINE_CLEANUP(struct clv_client *, clv_client_free)
#define _cleanup_client_ CLV_CLEANUP(clv_client_freep)

static inline void clv_json_free(json_t *value)
{
	json_decref(value);
}
CLV_DEFINE_CLEANUP(json_t *, clv_json_free)
#define _cleanup_json_ CLV_CLEANUP(clv_json_freep)

/* Members of an object; "", 0 or false if the member is missing or of another type.  A
 * negative number of bytes is 0. */
const char *clv_json_text(const json_t *object, const char *key);
double clv_json_number(const json_t *object, const char *key);
uint64_t clv_json_bytes(const json_t *object, const char *key);
bool clv_json_flag(const json_t *object, const char *key);
