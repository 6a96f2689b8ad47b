/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "cli/frame/opt.h"

#include <cleave.h>
#include <jansson.h>

/* What the verbs have in common: exit codes, the way errors are told, the client.  One
 * thread. */

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

/* What docs/api.md says for a code of the API or of libcleave. */
int clv_cli_exit_code(const char *code);

/* Prints "cleave: ..." on stderr; returns exit_code. */
int clv_cli_fail(int exit_code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same for what libcleave reported, with the exit code that docs/api.md gives it. */
int clv_cli_fail_client(const struct clv_client_error *err);

/* The same about one lease among several: says which. */
int clv_cli_fail_named(const char *name, const struct clv_client_error *err);

/* Which agent the user means. */
struct clv_client_options clv_cli_options(
	const struct clv_common *common, bool start_agent);

/* A simulated node whose file is wrong has no device and says why: 0, or an exit code
 * after having said it. */
int clv_cli_check_sim(const struct clv_common *common, struct clv_client *client);

/* 0, or an exit code after having said why. */
int clv_cli_connect(
	const struct clv_common *common, bool start_agent, struct clv_client **ret);

/* Prints what fetch brings, as the user wants to see it.  An exit code. */
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

/* Members of an object; "" and 0 when they are missing or null. */
const char *clv_json_text(const json_t *object, const char *key);
double clv_json_number(const json_t *object, const char *key);
uint64_t clv_json_bytes(const json_t *object, const char *key);
bool clv_json_flag(const json_t *object, const char *key);
