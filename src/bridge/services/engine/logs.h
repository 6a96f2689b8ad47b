/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_error;
struct clv_logs;
struct sd_event;

/* What a container has written last, read from the engine. */

/* Asks for the last n_lines, within room bytes as JSON, and does not wait.  on_end is
 * called once from the loop: lines, oldest first, is borrowed, and *why is empty, or it
 * is NULL, and why says what failed.  is_cut: not all of them had room.  NULL with *err
 * set: nothing was asked. */
struct clv_logs *clv_logs_read(struct sd_event *event, const char *container,
	unsigned n_lines, size_t room,
	void (*on_end)(void *userdata, json_t *lines, bool is_cut, const char *why),
	void *userdata, struct clv_error *err);

/* Does not call on_end.  Accepts NULL; returns NULL. */
struct clv_logs *clv_logs_free(struct clv_logs *logs);

/* The last n_lines, printable and each of at most 500 bytes, of an output without a line
 * break at its end, which is changed; fewer where they need more than room bytes as JSON,
 * which *ret_is_cut tells.  The caller owns the list; NULL: out of memory. */
json_t *clv_logs_split(char *output, size_t n_lines, size_t room, bool *ret_is_cut);
