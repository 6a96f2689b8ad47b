/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <syslog.h>

/* Only the outermost layers (the agent, a command's main) log; everything below returns
 * errors.  Lines go to stderr, with the journal's "<N>" level prefix when stderr is the
 * journal. */
void clv_log_set_level(int level);

/* Reads CLEAVE_LOG: "debug", "info", "notice", "warning", "error". */
void clv_log_set_level_from_env(void);

/* clv_log() and the macros below return r, so that `return clv_log_error(r, "...")` is
 * one line. */
int clv_log(int level, int r, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A structured field of a line, by which the journal can be searched.  Only a sink gets
 * fields. */
struct clv_log_field {
	const char *name, *value;
};

int clv_log_fields(int level, const struct clv_log_field *fields, size_t n_fields,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Sends lines to sink instead of stderr; NULL restores stderr. */
void clv_log_set_sink(void (*sink)(int level, const char *line,
	const struct clv_log_field *fields, size_t n_fields));

/* Bounds the file that is stderr, a sink for clv_log_set_sink(): beyond 1 MiB the older
 * half of its lines is removed.  The file is open for reading and appending. */
void clv_log_to_bounded_file(
	int level, const char *line, const struct clv_log_field *fields, size_t n_fields);

/* Whether stderr of this process is the journal.  JOURNAL_STREAM being set is not enough:
 * a child with redirected stderr inherits the variable. */
bool clv_log_is_journal(void);

#define clv_log_error(r, ...) clv_log(LOG_ERR, (r), __VA_ARGS__)
#define clv_log_warning(r, ...) clv_log(LOG_WARNING, (r), __VA_ARGS__)
#define clv_log_info(...) clv_log(LOG_INFO, 0, __VA_ARGS__)
#define clv_log_debug(...) clv_log(LOG_DEBUG, 0, __VA_ARGS__)
