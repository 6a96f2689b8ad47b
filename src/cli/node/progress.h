/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The progress of an operation on stderr: on a terminal one line with a bar, which is
 * updated, elsewhere a line for each step that has ended.  The caller owns the storage.
 */
struct clv_progress {
	bool is_live; /* a terminal that can rewrite a line */
	bool is_drawn;
	uint64_t since_ns;
	size_t n_told; /* reported steps, of the list below */
	size_t n_steps;
	char first_step[160];
	char state[32]; /* that was reported last */
	char waits_for[320];
};

void clv_progress_begin(struct clv_progress *progress);
void clv_progress_show(struct clv_progress *progress, const json_t *operation);

/* Clears the live line before other output. */
void clv_progress_clear(struct clv_progress *progress);

/* How long to wait for the operation's next state before it is shown again. */
uint32_t clv_progress_wait_ms(const struct clv_progress *progress);
