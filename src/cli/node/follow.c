/* SPDX-License-Identifier: Apache-2.0 */
/* Follows an operation.  The operation belongs to the agent and outlives this process; in
 * the agent's journal it outlives the agent too.  If the agent goes away, its successor
 * is asked for the same operation. */
#include "cli/node/change.h"

#include "base/clock.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/signals.h"
#include "cli/node/progress.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define AGENT_TIMEOUT_NS (30 * CLV_NS_PER_S)
#define AGENT_PAUSE_MS 250

struct follow {
	struct clv_change *change;
	struct clv_progress progress;
	char id[64];
};

/* The final states of an operation, and their exit codes; -1: by the operation's error.
 */
static const struct end {
	const char *state;
	int exit_code;
	const char *suffix;
} ends[] = {
	/* clang-format off */
	{ "done",        CLV_EXIT_OK,     "" },
	{ "failed",      -1,              "" },
	{ "rolled_back", CLV_EXIT_FAILED, ", and the completed steps were undone" },
	/* clang-format on */
};

static const struct end *end_of(const json_t *operation)
{
	const char *state = clv_json_text(operation, "state");

	for (size_t i = 0; i < CLV_ARRAY_SIZE(ends); i++) {
		if (strcmp(ends[i].state, state) == 0)
			return &ends[i];
	}
	return NULL;
}

/* Whether steps are done that could not be undone.  Then the operation failed; without
 * such steps the exit code may be the one for a busy device. */
static bool has_done_steps(const json_t *operation)
{
	json_t *step;
	size_t i;

	json_array_foreach (json_object_get(operation, "steps"), i, step) {
		if (strcmp(clv_json_text(step, "state"), "done") == 0)
			return true;
	}
	return false;
}

static int finish(const json_t *operation)
{
	const json_t *error = json_object_get(operation, "error");
	const char *detail = clv_json_text(error, "detail");
	const struct end *end = end_of(operation);
	int exit_code = end->exit_code;

	if (exit_code == CLV_EXIT_OK)
		return exit_code;
	if (exit_code < 0)
		exit_code = has_done_steps(operation)
				    ? CLV_EXIT_FAILED
				    : clv_cli_exit_code(clv_json_text(error, "code"));
	return clv_cli_fail(exit_code, "%s failed%s: %s",
		clv_json_text(operation, "what"), end->suffix,
		detail[0] ? detail : "the agent's log says why");
}

/* Writes the command that follows the operation on the same agent. */
static void format_command(const struct follow *f, char *ret, size_t ret_bytes)
{
	const struct clv_common *s = f->change->common;

	if (s->sim)
		snprintf(ret, ret_bytes, "cleave --sim %.200s apply --follow %s", s->sim,
			f->id);
	else if (s->socket)
		snprintf(ret, ret_bytes, "cleave apply --socket %.200s --follow %s",
			s->socket, f->id);
	else
		snprintf(ret, ret_bytes, "cleave apply --follow %s", f->id);
}

/* Whether no step has begun, as far as is known. */
static bool has_not_begun(const json_t *operation)
{
	const char *state = clv_json_text(operation, "state");

	return strcmp(state, "waiting") == 0 || strcmp(state, "surveying") == 0;
}

/* Whether the operation ended with its wait.  One that an earlier agent had begun goes
 * back instead. */
static bool has_failed(struct follow *f)
{
	_cleanup_json_ json_t *operation = NULL;

	return clv_client_operation(f->change->client, f->id, &operation, NULL) < 0 ||
	       strcmp(clv_json_text(operation, "state"), "failed") == 0;
}

/* Ends an operation that still waits; the agent refuses if it has begun meanwhile.
 * Returns the exit code of the signal. */
static int stop_following(struct follow *f, const json_t *operation)
{
	int exit_code = CLV_EXIT_SIGNAL + clv_signals_read(f->change->signal_fd);
	const char *what = clv_json_text(operation, "what");
	char how[400];

	clv_progress_clear(&f->progress);
	if (has_not_begun(operation) &&
		clv_client_operation_end(f->change->client, f->id, NULL) == 0 &&
		has_failed(f))
		return clv_cli_fail(exit_code,
			"%s: the wait was ended, and nothing was changed", what);
	format_command(f, how, sizeof(how));
	return clv_cli_fail(exit_code,
		"%s goes on in the agent: follow it with %s, or see cleave events", what,
		how);
}

static bool is_gone(int r)
{
	return r == -ECONNREFUSED || r == -ECONNRESET;
}

/* Connects to the agent's successor.  Returns 0, or an exit code. */
static int find_agent(struct follow *f, const json_t *operation)
{
	struct pollfd interrupt = {.fd = f->change->signal_fd, .events = POLLIN};
	uint64_t until_ns = clv_clock_ns() + AGENT_TIMEOUT_NS;
	struct clv_client_error err;
	char how[400];
	int r;

	clv_progress_clear(&f->progress);
	clv_cli_fail(0, "the agent went away: looking for it again");
	while ((r = clv_client_reconnect(f->change->client, &err)) < 0) {
		if (r == -EINTR || poll(&interrupt, 1, AGENT_PAUSE_MS) > 0)
			return stop_following(f, operation);
		if (!is_gone(r) || clv_clock_ns() > until_ns)
			break;
	}
	if (r == 0)
		return 0;
	format_command(f, how, sizeof(how));
	return clv_cli_fail(CLV_EXIT_UNREACHABLE,
		"%s; %s goes on when the agent is back: follow it then with %s", err.msg,
		clv_json_text(operation, "what"), how);
}

/* Waits for the next state of the operation, or for a timeout.  Returns 0 with *operation
 * replaced, or an exit code. */
static int next_state(struct follow *f, uint64_t *revision, json_t **operation)
{
	struct clv_client_error err;
	json_t *newer;
	int r = clv_client_operation_wait(f->change->client, f->id, *revision,
		clv_progress_wait_ms(&f->progress), &newer, &err);

	if (r >= 0) {
		json_decref(*operation);
		*operation = newer;
		*revision = clv_json_bytes(newer, "revision");
		return 0;
	}
	if (r == -EINTR)
		return stop_following(f, *operation);
	if (is_gone(r)) {
		/* A new agent counts revisions from 0. */
		*revision = 0;
		return find_agent(f, *operation);
	}
	clv_progress_clear(&f->progress);
	/* A wait may not have been recorded: the disk was full. */
	if (r == -ENOENT && strcmp(clv_json_text(*operation, "state"), "waiting") == 0)
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"%s was still waiting when its agent ended, and nothing was "
			"changed: ask for it again",
			clv_json_text(*operation, "what"));
	return clv_cli_fail(r == -ENOENT ? CLV_EXIT_FAILED : clv_cli_exit_code(err.code),
		"%s cannot be followed any more: %s; cleave diff says what is left to do",
		clv_json_text(*operation, "what"), err.msg);
}

int clv_change_follow(struct clv_change *change, json_t **operation)
{
	struct follow f = {.change = change};
	uint64_t revision = clv_json_bytes(*operation, "revision");

	snprintf(f.id, sizeof(f.id), "%s", clv_json_text(*operation, "id"));
	clv_progress_begin(&f.progress);
	while (!end_of(*operation)) {
		int r;

		clv_progress_show(&f.progress, *operation);
		r = next_state(&f, &revision, operation);
		if (r)
			return r;
	}
	clv_progress_show(&f.progress, *operation);
	clv_progress_clear(&f.progress);
	return finish(*operation);
}
