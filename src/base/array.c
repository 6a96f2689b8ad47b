/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* The capacity is always a power of two, so it follows from the count and is not
 * stored. */
void *clv_array_grow(void **items, size_t n, size_t item_bytes)
{
	if ((n & (n - 1)) == 0) {
		void *grown = reallocarray(*items, n ? n * 2 : 1, item_bytes);

		if (!grown)
			return NULL;
		*items = grown;
	}
	memset((char *)*items + n * item_bytes, 0, item_bytes);
	return *items;
}
