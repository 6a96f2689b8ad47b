/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>

struct clv_opt;
struct clv_verb;

/* The help of a verb (or of cleave itself, for the root verb), wrapped to the terminal.
 */
void clv_help_print(const struct clv_verb *verb, FILE *stream);

/* The parts of a man page that come from the tables, in scdoc's language. */
void clv_help_print_scdoc(const struct clv_verb *verb, FILE *stream);

/* Copies a man page's source, with the lines @SYNOPSIS@, @OPTIONS@ and @VERBS@ replaced.
 * Returns 0 or -errno. */
int clv_help_fill_scdoc(const struct clv_verb *verb, FILE *from, FILE *to);
