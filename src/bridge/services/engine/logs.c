/* SPDX-License-Identifier: Apache-2.0 */
/* A container chooses what it writes, and how much: of the engine's output the end is
 * kept. */
#include "bridge/services/engine/logs.h"

#include "base/error.h"
#include "base/text.h"
#include "bridge/services/engine/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 500u
#define READ_MAX_BYTES 60000u
#define TIMED_OUT 124
#define WAS_KILLED 137 /* it did not end then */

/* The last line is the exit code of the engine.  $1: the container, $2: how many lines,
 * $3: how many bytes. */
static const char script[] =
	"{ timeout --kill-after=5 20 podman logs --tail=\"$2\" \"$1\" 2>&1; "
	"printf '\\n%d' \"$?\"; } | tr -d '\\000' | tail -c \"$3\"";

struct clv_logs {
	struct clv_job *job;
	size_t n_lines, room;
	void (*on_end)(void *userdata, json_t *lines, bool is_cut, const char *why);
	void *userdata;
};

struct clv_logs *clv_logs_free(struct clv_logs *logs)
{
	if (!logs)
		return NULL;
	clv_job_free(logs->job);
	free(logs);
	return NULL;
}

/* Programs put tabs into lines, end them with a carriage return, and write over them. */
static json_t *make_line(char *line)
{
	size_t n = strlen(line);
	char *over;

	while (n > 0 && line[n - 1] == '\r')
		line[--n] = '\0';
	over = strrchr(line, '\r');
	line = over ? over + 1 : line;
	if (strlen(line) > LINE_MAX_BYTES)
		line[LINE_MAX_BYTES] = '\0';
	for (char *p = line; (p = strchr(p, '\t'));)
		*p = ' ';
	clv_text_make_printable(line); /* a character may be cut */
	return json_string(line);
}

/* Cuts the last line from the text, and returns it; it may be the text itself. */
static char *take_last(char *text)
{
	char *end = strrchr(text, '\n');

	if (!end)
		return text;
	*end = '\0';
	return end + 1;
}

json_t *clv_logs_split(char *output, size_t n_lines, size_t room, bool *ret_is_cut)
{
	json_t *lines = json_array();
	bool is_first = *output == '\0';

	*ret_is_cut = false;
	while (!is_first && json_array_size(lines) < n_lines) {
		char *at = take_last(output);
		json_t *line = make_line(at);
		size_t n_bytes =
			json_dumpb(line, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) + 1;

		is_first = at == output;
		if (n_bytes > room) {
			json_decref(line);
			*ret_is_cut = true;
			break;
		}
		room -= n_bytes;
		json_array_insert_new(lines, 0, line);
	}
	return lines;
}

static void drop_end(char *text)
{
	size_t n = strlen(text);

	if (n > 0 && text[n - 1] == '\n')
		text[n - 1] = '\0';
}

/* What was read is the end of more: its first line may lack its begin. */
static char *skip_part(char *text, bool is_part)
{
	char *next = strchr(text, '\n');

	return is_part && next ? next + 1 : text;
}

static void on_job(void *userdata, int code, const char *output, const char *why)
{
	struct clv_logs *logs = userdata;
	char *text = strdup(output), *from = NULL, reason[300] = "";
	bool is_part = strlen(output) >= READ_MAX_BYTES, is_cut = false;
	json_t *lines = NULL;

	logs->job = NULL;
	/* First, as the rest may be part of one line only. */
	if (text && code == 0) {
		code = atoi(take_last(text));
		drop_end(text);
	}
	if (text)
		from = skip_part(text, is_part);
	if (!from)
		snprintf(reason, sizeof(reason), "out of memory");
	else if (code == TIMED_OUT || code == WAS_KILLED)
		snprintf(reason, sizeof(reason), "podman did not answer within 20 s");
	else if (code != 0)
		snprintf(reason, sizeof(reason), "podman logs: %.250s",
			*why ? why : take_last(from));
	else
		lines = clv_logs_split(from, logs->n_lines, logs->room, &is_cut);
	clv_text_make_printable(reason);
	logs->on_end(logs->userdata, lines, is_part || is_cut, reason);
	json_decref(lines);
	free(text);
}

struct clv_logs *clv_logs_read(struct sd_event *event, const char *container,
	unsigned n_lines, size_t room,
	void (*on_end)(void *userdata, json_t *lines, bool is_cut, const char *why),
	void *userdata, struct clv_error *err)
{
	struct clv_logs *logs = calloc(1, sizeof(*logs));
	char n[16], n_bytes[16];
	const char *const argv[] = {
		"sh", "-c", script, "sh", container, n, n_bytes, NULL};

	if (!logs) {
		clv_error_errno(err, ENOMEM, "cannot read logs");
		return NULL;
	}
	snprintf(n, sizeof(n), "%u", n_lines);
	snprintf(n_bytes, sizeof(n_bytes), "%u", READ_MAX_BYTES);
	logs->n_lines = n_lines;
	logs->room = room;
	logs->on_end = on_end;
	logs->userdata = userdata;
	logs->job = clv_job_start(
		event, (char *const *)(const void *)argv, on_job, logs, err);
	return logs->job ? logs : clv_logs_free(logs);
}
