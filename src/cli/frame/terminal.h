/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Whether the stream is a terminal that can rewrite lines. */
bool clv_terminal_is_live(FILE *stream);

/* Whether to use colours on the stream: clv_terminal_is_live(), and NO_COLOR is not set.
 */
bool clv_terminal_has_colours(FILE *stream);

/* Columns of the terminal on stdout or on stream; 0 if it is not a terminal. */
int clv_terminal_width(void);
int clv_terminal_width_of(FILE *stream);

/* Replaces control characters with '?', so that text from another process cannot control
 * the terminal. */
void clv_terminal_sanitize(char *text);
