/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Checks and cleanup of untrusted text for messages, names and files. */

/* Whether the text is valid UTF-8 without line breaks and control characters. */
bool clv_text_is_line(const char *text);

/* Replaces the bytes of each character that clv_text_is_line() refuses, and of incomplete
 * UTF-8 sequences, by question marks. */
void clv_text_make_printable(char *text);

/* Appends item to a list that is separated by ", "; truncates it if the buffer is too
 * small. */
void clv_text_list(char *list, size_t list_bytes, const char *item);
