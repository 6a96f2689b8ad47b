/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <syslog.h>

/* Only outermost layers (the agent, a command's main) log; everything below returns
 * errors. Lines go to stderr, with the journal's "<N>" level prefix when stderr is the
 * journal. */
void clv_log_set_level(int level);

/* Reads CLEAVE_LOG: "debug", "info", "notice", "warning", "error". */
void clv_log_set_level_from_env(void);

/* All return r, so that `return clv_log_error(r, "...")` is one line. */
int clv_log(int level, int r, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define clv_log_error(r, ...) clv_log(LOG_ERR, (r), __VA_ARGS__)
#define clv_log_warning(r, ...) clv_log(LOG_WARNING, (r), __VA_ARGS__)
#define clv_log_info(...) clv_log(LOG_INFO, 0, __VA_ARGS__)
#define clv_log_debug(...) clv_log(LOG_DEBUG, 0, __VA_ARGS__)
