/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>

struct clv_opt;
struct clv_verb;

/* The help of a verb (or of cleave itself, for the root verb), wrapped to the terminal.
 */
void clv_help_print(const struct clv_verb *verb, FILE *stream);

/* Copies a man page's source (scdoc), with the lines @NAME@, @SYNOPSIS@, @OPTIONS@ and
 * @VERBS@ replaced by what the tables say.  Returns 0 or -errno. */
int clv_help_fill_scdoc(const struct clv_verb *verb, FILE *from, FILE *to);
