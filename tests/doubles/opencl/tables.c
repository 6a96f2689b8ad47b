/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"
#include "entries.h"
#include "knobs.h"

/* A driver may have a table for each kind of object: with the same calls, without the
 * calls that make no sense for that kind, or with different calls. */

static cl_icd_dispatch tables[_DCL_TYPE_MAX];

static cl_mem CL_API_CALL create_buffer_of_own(cl_context context, cl_mem_flags flags,
	size_t bytes, void *host_ptr, cl_int *errcode_ret)
{
	return dcl_clCreateBuffer(context, flags, bytes, host_ptr, errcode_ret);
}

const cl_icd_dispatch *dcl_table_of(enum dcl_type type)
{
	return dcl_knobs.tables == DCL_TABLES_ONE ? &dcl_dispatch : &tables[type];
}

void dcl_tables_init(void)
{
	for (enum dcl_type type = 0; type < _DCL_TYPE_MAX; type++) {
		tables[type] = dcl_dispatch;
		if (type == DCL_PLATFORM || type == DCL_DEVICE)
			tables[type].clCreateBuffer = NULL;
	}
	if (dcl_knobs.tables == DCL_TABLES_STRANGE)
		tables[DCL_QUEUE].clCreateBuffer = create_buffer_of_own;
}
