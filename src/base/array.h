/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Growing arrays.  The owner keeps a pointer and a count next to each other, both zero at
 * the start. */

/* Appends a zeroed element to items, whose count is n, and returns a pointer to it; NULL
 * if out of memory. */
#define CLV_APPEND(items, n)                                                            \
	((__typeof__(items))clv_array_grow((void **)&(items), (n), sizeof(*(items))) == \
				NULL                                                    \
			? NULL                                                          \
			: &(items)[(n)++])

/* Makes room for one more element after the first n and zeroes it.  Returns the array,
 * which may have moved, or NULL if out of memory; the array is unchanged then. */
void *clv_array_grow(void **items, size_t n, size_t item_bytes);
