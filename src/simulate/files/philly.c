/* SPDX-License-Identifier: Apache-2.0 */
/* The array may be large, so this file finds the end of each job by its brackets, and
 * jansson parses the job alone. */
#include "simulate/files/philly.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define JOB_BYTES_MAX (1u << 20)

void clv_philly_init(struct clv_philly *philly, FILE *file, const char *name)
{
	*philly = (struct clv_philly){.file = file, .name = name, .line = 1};
}

static int fail(const struct clv_philly *philly, struct clv_error *err, const char *what)
{
	return clv_error_set(err, -EINVAL, "%.200s:%" PRIu64 ":1: %s", philly->name,
		philly->job_line, what);
}

static int next_char(struct clv_philly *philly)
{
	int c = getc_unlocked(philly->file);

	philly->line += c == '\n';
	return c;
}

/* Returns the first character of the next job, or EOF at the end of the array. */
static int find_job(struct clv_philly *philly)
{
	int c;

	do
		c = next_char(philly);
	while (c != EOF && strchr(" \t\r\n,[", c));
	philly->job_line = philly->line;
	return c == ']' ? EOF : c;
}

/* Adds a character if the job is not too large.  Returns 0 or -ENOMEM. */
static int keep(struct clv_philly *philly, int c)
{
	if (philly->n == philly->room && philly->room < JOB_BYTES_MAX) {
		size_t room = philly->room ? 2 * philly->room : 4096;
		char *grown = realloc(philly->text, room);

		if (!grown)
			return -ENOMEM;
		philly->text = grown;
		philly->room = room;
	}
	if (philly->n < philly->room)
		philly->text[philly->n] = (char)c;
	philly->n++;
	return 0;
}

/* Reads the rest of an object whose first bracket was read. */
static int read_text(struct clv_philly *philly, struct clv_error *err)
{
	bool is_quoted = false, is_escaped = false;
	unsigned depth = 1;
	int c;

	philly->n = 0;
	if (keep(philly, '{') < 0)
		return clv_error_errno(err, ENOMEM, "%.200s", philly->name);
	while (depth > 0) {
		c = next_char(philly);
		if (c == EOF)
			return fail(philly, err, "the file ends within this job");
		if (keep(philly, c) < 0)
			return clv_error_errno(err, ENOMEM, "%.200s", philly->name);
		if (c == '"' && !is_escaped)
			is_quoted = !is_quoted;
		is_escaped = is_quoted && !is_escaped && c == '\\';
		depth += !is_quoted && c == '{';
		depth -= !is_quoted && c == '}';
	}
	return philly->n > philly->room
		       ? fail(philly, err, "a job has at most 1 MiB of text")
		       : 0;
}

static int parse(struct clv_philly *philly, json_t **ret, struct clv_error *err)
{
	json_error_t where;

	*ret = json_loadb(philly->text, philly->n, 0, &where);
	if (*ret)
		return 0;
	return clv_error_set(err, -EINVAL, "%.200s:%" PRIu64 ":%d: %.200s", philly->name,
		philly->job_line + (uint64_t)(where.line > 0 ? where.line - 1 : 0),
		where.column > 0 ? where.column : 1, where.text);
}

/* Reads a time.  Returns 1, 0 if there is none, or -EINVAL. */
static int read_time(const struct clv_philly *philly, const json_t *object,
	const char *key, uint64_t *ret, struct clv_error *err)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (!text || text[0] == '\0' || strcmp(text, "None") == 0)
		return 0;
	if (clv_csv_parse_date(text, ret))
		return 1;
	return clv_error_set(err, -EINVAL,
		"%.200s:%" PRIu64 ":1: '%.40s' is no time as 2017-10-07 01:12:09",
		philly->name, philly->job_line, text);
}

/* Fills n_devices from the machines of an attempt. */
static int read_machines(
	struct clv_philly *philly, const json_t *attempt, struct clv_error *err)
{
	const json_t *machine;
	size_t i;

	philly->n_parts = philly->n_told = 0;
	json_array_foreach (json_object_get(attempt, "detail"), i, machine) {
		size_t n = json_array_size(json_object_get(machine, "gpus"));

		if (n == 0)
			continue;
		if (philly->n_parts == CLV_TRACE_GANG_MAX)
			return fail(philly, err, "a gang has at most 1024 requests");
		philly->n_devices[philly->n_parts++] = (uint32_t)n;
	}
	return 0;
}

/* Returns 1, 0 if the job is left out, or -EINVAL. */
static int read_job(struct clv_philly *philly, const json_t *job, struct clv_error *err)
{
	const json_t *attempts = json_object_get(job, "attempts");
	size_t n = json_array_size(attempts);
	const json_t *first = json_array_get(attempts, 0);
	uint64_t begins_s = 0, ends_s = 0;
	uint32_t number = philly->row.gang + 1;
	int r, began, ended;

	philly->row = (struct clv_row){
		.n_alike = 1, .milli = 1000, .gang = number, .stays_s = CLV_ROW_UNSET};
	r = read_time(philly, job, "submitted_time", &philly->row.arrives_s, err);
	if (r == 0)
		return fail(philly, err, "'submitted_time' is missing");
	began = read_time(philly, first, "start_time", &begins_s, err);
	ended = read_time(philly, json_array_get(attempts, n ? n - 1 : 0), "end_time",
		&ends_s, err);
	if (r < 0 || began < 0 || ended < 0)
		return -EINVAL;
	r = read_machines(philly, first, err);
	if (r < 0)
		return r;
	if (philly->n_parts == 0 || !began)
		return 0;
	if (ended && ends_s < begins_s)
		return fail(philly, err, "it ends before it begins");
	if (ended)
		philly->row.stays_s = ends_s - begins_s;
	return 1;
}

/* Reads jobs until one has requests.  Returns 1, 0 at the end, or an error. */
static int next_job(struct clv_philly *philly, struct clv_error *err)
{
	int r = 0;

	while (r == 0) {
		json_t *job = NULL;
		int c = find_job(philly);

		philly->n_parts = philly->n_told = 0;
		if (c == EOF)
			return ferror(philly->file)
				       ? clv_error_errno(err, EIO, "%.200s", philly->name)
				       : 0;
		if (c != '{')
			return fail(philly, err, "a job is expected here, as {...}");
		r = read_text(philly, err);
		if (r == 0)
			r = parse(philly, &job, err);
		if (r == 0)
			r = read_job(philly, job, err);
		if (r < 0)
			philly->n_parts = 0;
		philly->n_left_out += r == 0;
		json_decref(job);
	}
	return r;
}

int clv_philly_next(struct clv_philly *philly, struct clv_row *ret, struct clv_error *err)
{
	if (philly->n_told == philly->n_parts) {
		int r = next_job(philly, err);

		if (r <= 0)
			return r;
	}
	*ret = philly->row;
	ret->n_devices = philly->n_devices[philly->n_told++];
	if (philly->n_parts == 1)
		ret->gang = 0;
	return 1;
}

void clv_philly_done(struct clv_philly *philly)
{
	free(philly->text);
	philly->text = NULL;
}
