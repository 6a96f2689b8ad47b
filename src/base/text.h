/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Text that comes from outside: what of it may stand in a message, a name, a file. */

/* UTF-8 without line breaks and control characters. */
bool clv_text_is_line(const char *text);

/* Puts a question mark in place of each character that is not so, those that were cut in
 * the middle too. */
void clv_text_make_printable(char *text);

/* Adds ", ITEM" to a list, or the item alone where it is empty; as much as fits. */
void clv_text_list(char *list, size_t list_bytes, const char *item);
