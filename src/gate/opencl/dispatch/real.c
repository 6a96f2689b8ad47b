/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/opencl/dispatch/real.h"

#include "base/cleanup.h"
#include "gate/opencl/dispatch/entries.h"

#include <stdint.h>
#include <string.h>

cl_icd_dispatch clv_real;
cl_icd_dispatch clv_opencl_wrappers, clv_opencl_filters;

static const char *const names[] = {
#define ENTRY(function) \
	[offsetof(cl_icd_dispatch, function) / sizeof(void *)] = #function,
	CLV_OPENCL_ENTRIES(ENTRY)
#undef ENTRY
};

void **clv_opencl_entry(cl_icd_dispatch *table, size_t entry)
{
	return (void **)((char *)table + entry * sizeof(void *));
}

void *clv_opencl_wrapper(size_t entry)
{
	return entry < CLV_OPENCL_N_ENTRIES
		       ? *clv_opencl_entry(&clv_opencl_wrappers, entry)
		       : NULL;
}

void *clv_opencl_filter(size_t entry)
{
	return entry < CLV_OPENCL_N_ENTRIES
		       ? *clv_opencl_entry(&clv_opencl_filters, entry)
		       : NULL;
}

const char *clv_opencl_name(size_t entry)
{
	return entry < CLV_ARRAY_SIZE(names) ? names[entry] : NULL;
}

size_t clv_opencl_find_entry(const char *name)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return SIZE_MAX;
}
