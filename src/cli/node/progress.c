/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the progress of an operation on stderr. */
#include "cli/node/progress.h"

#include "base/clock.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/terminal.h"
#include "cli/node/holders.h"

#include <stdio.h>
#include <string.h>

#define POLL_MS 30000u
#define REDRAW_MS 500u
#define BAR_WIDTH 20

void clv_progress_begin(struct clv_progress *progress)
{
	*progress = (struct clv_progress){
		.is_live = clv_terminal_is_live(stderr),
		.since_ns = clv_clock_ns(),
	};
}

uint32_t clv_progress_wait_ms(const struct clv_progress *progress)
{
	return progress->is_live ? REDRAW_MS : POLL_MS;
}

void clv_progress_clear(struct clv_progress *progress)
{
	if (progress->is_drawn)
		fprintf(stderr, "\r\033[K");
	progress->is_drawn = false;
}

static bool is_in(const json_t *object, const char *state)
{
	return strcmp(clv_json_text(object, "state"), state) == 0;
}

static bool has_ended(const json_t *step)
{
	return is_in(step, "done") || is_in(step, "failed");
}

/* The step that runs, or else the next one. */
static const json_t *current_step(const json_t *steps)
{
	const json_t *next = NULL;
	json_t *step;
	size_t i;

	json_array_foreach (steps, i, step) {
		if (is_in(step, "running"))
			return step;
		if (!next && is_in(step, "pending"))
			next = step;
	}
	return next;
}

static size_t count_ended(const json_t *steps)
{
	size_t i, n = 0;
	json_t *step;

	json_array_foreach (steps, i, step)
		n += has_ended(step);
	return n;
}

static void describe_wait(const json_t *operation, char *ret, size_t ret_bytes)
{
	const char *why = clv_json_text(json_object_get(operation, "error"), "detail");
	char who[256];

	clv_holders_describe(json_object_get(operation, "obstacles"), who, sizeof(who));
	snprintf(ret, ret_bytes, "waiting: %s", why[0] ? why : who);
}

/* "[####......] 2/5 create gpu0/1g.10gb@4" */
static void describe_steps(const json_t *operation, char *ret, size_t ret_bytes)
{
	const json_t *steps = json_object_get(operation, "steps");
	const json_t *now = current_step(steps);
	size_t n = json_array_size(steps), n_ended = count_ended(steps);
	size_t filled = n ? n_ended * BAR_WIDTH / n : 0;
	char bar[BAR_WIDTH + 1];

	memset(bar, '.', BAR_WIDTH);
	memset(bar, '#', filled);
	bar[BAR_WIDTH] = '\0';
	snprintf(ret, ret_bytes, "[%s] %zu/%zu %s%s", bar, n_ended, n,
		is_in(operation, "rolling_back") ? "undoing what was done" : "",
		is_in(operation, "rolling_back") ? "" : clv_json_text(now, "text"));
}

static void draw(struct clv_progress *progress, const json_t *operation)
{
	uint64_t seconds = (clv_clock_ns() - progress->since_ns) / CLV_NS_PER_S;
	int width = clv_terminal_width_of(stderr), room;
	char text[600], seconds_text[32];

	if (is_in(operation, "surveying"))
		snprintf(text, sizeof(text), "reading the state of the node");
	else if (is_in(operation, "waiting"))
		describe_wait(operation, text, sizeof(text));
	else
		describe_steps(operation, text, sizeof(text));
	clv_terminal_sanitize(text);
	snprintf(seconds_text, sizeof(seconds_text), " (%llu s)",
		(unsigned long long)seconds);
	room = width - 1 - (int)strlen(seconds_text);
	fprintf(stderr, "\r\033[K%.*s%s", room > 0 ? room : 0, text, seconds_text);
	progress->is_drawn = true;
}

static void report_step(const json_t *step, size_t number, size_t n)
{
	clv_output_line(stderr, "cleave: %zu/%zu %s%s (%.1f s)", number, n,
		clv_json_text(step, "text"), is_in(step, "failed") ? ": failed" : "",
		clv_json_number(step, "seconds"));
}

/* A rollback has its own list of steps, and so has a restarted agent, which plans again:
 * counts reported steps from the start. */
static void reset_for_new_list(struct clv_progress *progress, const json_t *steps)
{
	const char *first = clv_json_text(json_array_get(steps, 0), "text");
	size_t n = json_array_size(steps);

	if (n == progress->n_steps && strcmp(first, progress->first_step) == 0)
		return;
	progress->n_steps = n;
	progress->n_told = 0;
	snprintf(progress->first_step, sizeof(progress->first_step), "%s", first);
}

/* Reports the steps that have ended since the last call; steps end in order. */
static void report_steps(struct clv_progress *progress, const json_t *steps)
{
	size_t n = json_array_size(steps);

	reset_for_new_list(progress, steps);
	while (progress->n_told < n) {
		const json_t *step = json_array_get(steps, progress->n_told);

		if (!has_ended(step))
			return;
		report_step(step, ++progress->n_told, n);
	}
}

static void report_wait(struct clv_progress *progress, const json_t *operation)
{
	char text[320];

	describe_wait(operation, text, sizeof(text));
	if (strcmp(text, progress->waits_for) == 0)
		return;
	snprintf(progress->waits_for, sizeof(progress->waits_for), "%s", text);
	clv_output_line(stderr, "cleave: %s", text);
}

static void report(struct clv_progress *progress, const json_t *operation)
{
	const char *state = clv_json_text(operation, "state");

	if (is_in(operation, "waiting"))
		report_wait(progress, operation);
	report_steps(progress, json_object_get(operation, "steps"));
	if (is_in(operation, "rolling_back") && strcmp(progress->state, state) != 0)
		clv_output_line(stderr, "cleave: a step failed: undoing what was done");
	snprintf(progress->state, sizeof(progress->state), "%s", state);
}

void clv_progress_show(struct clv_progress *progress, const json_t *operation)
{
	if (progress->is_live)
		draw(progress, operation);
	else
		report(progress, operation);
}
