/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "text.h"

/* Actions that are not writes to files: the tools for modules and of vendors, and the
 * power switch. Each is a program of the same name in the control folder's "bin", which
 * passes its words on. */

/* Writes the programs. */
void sy_commands_write(const char *control);

/* Carries out a command; its output goes to *ret. Returns the exit status. */
int sy_command(char *const *words, size_t n, struct sy_text *ret);

/* --- The socket between the two --- */

/* Serves it in a thread of its own. */
void sy_socket_serve(const char *control);
/* The client's end; returns the exit status of the command. */
int sy_socket_ask(const char *control, char *const *words);
