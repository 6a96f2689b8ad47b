/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include <string.h>

int dnv_answer_text(char *ret, uint32_t bytes, const char *text)
{
	size_t needed = strlen(text) + 1;

	if (!ret)
		return DNV_INVALID_ARGUMENT;
	if (bytes < needed)
		return DNV_INSUFFICIENT_SIZE;
	memcpy(ret, text, needed);
	return DNV_SUCCESS;
}

int dnv_answer_array(
	void *ret, uint32_t *count, const void *items, uint32_t n, uint32_t item_bytes)
{
	uint32_t room;

	if (!count || (*count && !ret))
		return DNV_INVALID_ARGUMENT;
	room = *count;
	*count = n;
	if (room < n)
		return DNV_INSUFFICIENT_SIZE;
	if (n)
		memcpy(ret, items, (size_t)n * item_bytes);
	return DNV_SUCCESS;
}
