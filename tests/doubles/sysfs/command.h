/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "text.h"

/* What is no write to a file: the modules' and the vendors' tools, and the power switch.
 * Each is a program of the same name in the control folder's "bin", which hands its
 * words over. */

/* Writes the programs. */
void sy_commands_write(const char *control);

/* Carries one out; what it says goes to *ret.  The exit status is returned. */
int sy_command(char *const *words, size_t n, struct sy_text *ret);

/* --- The socket between the two --- */

/* Serves it in a thread of its own. */
void sy_socket_serve(const char *control);
/* The other end: the exit status of the command. */
int sy_socket_ask(const char *control, char *const *words);
