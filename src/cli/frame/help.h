/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>

struct clv_opt;
struct clv_verb;

/* Prints the help of a verb, or of cleave itself for the root verb, wrapped to the width
 * of the terminal. */
void clv_help_print(const struct clv_verb *verb, FILE *stream);

/* Copies the source of a man page (scdoc), and replaces the lines @NAME@, @SYNOPSIS@,
 * @OPTIONS@ and @VERBS@ with text from the tables.  Returns 0 or -errno. */
int clv_help_fill_scdoc(const struct clv_verb *verb, FILE *from, FILE *to);
