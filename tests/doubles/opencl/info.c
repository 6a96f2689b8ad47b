/* SPDX-License-Identifier: Apache-2.0 */
#include "info.h"
#include <string.h>

/* The common part of all clGet...Info functions: the size rules, and the tables. */

cl_int dcl_info_reply(
	const void *value, size_t value_bytes, size_t bytes, void *ret, size_t *ret_bytes)
{
	if (ret) {
		if (bytes < value_bytes)
			return CL_INVALID_VALUE;
		memcpy(ret, value, value_bytes);
	}
	if (ret_bytes)
		*ret_bytes = value_bytes;
	return CL_SUCCESS;
}

static const void *row_value(
	const struct dcl_info *row, const void *object, size_t *bytes, void *scratch)
{
	const char *base = (const char *)object + row->offset;
	uint64_t wide;

	*bytes = row->bytes;
	switch ((enum dcl_info_kind)row->kind) {
	case DCL_INFO_FIELD:
		/* Reference counts are atomics that other threads change. */
		if (row->bytes == sizeof(uint32_t)) {
			uint32_t narrow = __atomic_load_n(
				(const uint32_t *)(const void *)base, __ATOMIC_RELAXED);

			return memcpy(scratch, &narrow, sizeof(narrow));
		}
		return base;
	case DCL_INFO_SIZED:
		memcpy(bytes, (const char *)object + row->offset2, sizeof(*bytes));
		return base;
	case DCL_INFO_STRING:
		*bytes = strlen(base) + 1;
		return base;
	case DCL_INFO_CONST:
		return row->data;
	case DCL_INFO_MAKE:
		return row->make(object, bytes, scratch);
	case DCL_INFO_MAKE_U64:
		wide = row->make_u64(object);
		return memcpy(scratch, &wide, sizeof(wide));
	}
	return NULL;
}

cl_int dcl_info_get(const struct dcl_info *table, size_t rows, const void *object,
	cl_uint param, size_t bytes, void *ret, size_t *ret_bytes)
{
	uint64_t scratch[8];

	for (size_t i = 0; i < rows; i++) {
		size_t value_bytes;
		const void *value;

		if (table[i].param != param)
			continue;
		value = row_value(&table[i], object, &value_bytes, scratch);
		if (!value && value_bytes)
			return CL_INVALID_VALUE;
		return dcl_info_reply(value, value_bytes, bytes, ret, ret_bytes);
	}
	return CL_INVALID_VALUE;
}
