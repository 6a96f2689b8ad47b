/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "abi.h"

/* Forms of answers that many functions share; each returns a code. */

/* Copies into a caller's buffer. */
int dnv_answer_text(char *ret, uint32_t bytes, const char *text);

/* Copies into a caller's array of *count elements: where it is too small, *count returns
 * the needed number. With *count = 0, `ret` may be NULL. */
int dnv_answer_array(
	void *ret, uint32_t *count, const void *items, uint32_t n, uint32_t item_bytes);
