/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Arrays that grow: a pointer and a count, side by side in their owner. */

/* Appends a zeroed element to items (of n) and returns it; NULL without memory. */
#define CLV_APPEND(items, n)                                                            \
	((__typeof__(items))clv_array_grow((void **)&(items), (n), sizeof(*(items))) == \
				NULL                                                    \
			? NULL                                                          \
			: &(items)[(n)++])

/* Makes room for one more element behind n and zeroes it.  NULL, and all as it was,
 * without memory. */
void *clv_array_grow(void **items, size_t n, size_t item_bytes);
