/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "abi.h"

/* Ways of answering that many functions share; each returns a code. */

/* Into a caller's buffer. */
int dnv_answer_text(char *ret, uint32_t bytes, const char *text);

/* Into a caller's array of *count places: where it is too small, *count says how many are
 * needed.  Asked with *count = 0, `ret` may be NULL. */
int dnv_answer_array(
	void *ret, uint32_t *count, const void *items, uint32_t n, uint32_t item_bytes);
