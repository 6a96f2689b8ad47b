/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"
#include "entries.h"
#include "kernel.h"
#include "object.h"
#include <stdlib.h>
#include <string.h>

/* Kernels, native kernels, markers and barriers. */

static cl_int check_range(
	cl_uint dims, const size_t *global, const size_t *local, bool *is_empty)
{
	size_t group = 1;

	if (dims < 1 || dims > 3)
		return CL_INVALID_WORK_DIMENSION;
	if (!global)
		return CL_INVALID_GLOBAL_WORK_SIZE;
	*is_empty = false;
	for (cl_uint i = 0; i < dims; i++) {
		*is_empty |= global[i] == 0;
		if (!local)
			continue;
		if (local[i] == 0)
			return CL_INVALID_WORK_GROUP_SIZE;
		if (local[i] > (i == 2 ? 64 : 1024))
			return CL_INVALID_WORK_ITEM_SIZE;
		group *= local[i];
	}
	return group > 1024 ? CL_INVALID_WORK_GROUP_SIZE : CL_SUCCESS;
}

static cl_int enqueue_kernel(cl_command_queue q, cl_kernel kernel, cl_command_type type,
	bool is_empty, cl_uint n, const cl_event *waits, cl_event *event)
{
	struct dcl_cmd *cmd;
	cl_uint left;
	cl_int rc;

	rc = dcl_kernel_check(kernel, q->context);
	if (rc)
		return rc;
	cmd = dcl_cmd_begin(q, type, n, waits, event != NULL, &rc);
	if (!cmd)
		return rc;
	cmd->op = DCL_OP_KERNEL;
	cmd->kernel_ns = is_empty ? 0 : kernel->kernel_ns;
	left = kernel->n_mems;
	for (const struct dcl_arg *arg = kernel->args; left; arg++) {
		if (!arg->mem)
			continue;
		left--;
		dcl_cmd_use(cmd, arg->mem);
	}
	return dcl_cmd_commit(cmd, event);
}

cl_int CL_API_CALL dcl_clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel kernel,
	cl_uint dims, const size_t *offset, const size_t *global, const size_t *local,
	cl_uint n, const cl_event *waits, cl_event *event)
{
	bool is_empty;
	cl_int rc;

	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!dcl_is(kernel, DCL_KERNEL))
		return CL_INVALID_KERNEL;
	rc = check_range(dims, global, local, &is_empty);
	if (rc)
		return rc;
	return enqueue_kernel(
		q, kernel, CL_COMMAND_NDRANGE_KERNEL, is_empty, n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueTask(cl_command_queue q, cl_kernel kernel, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	return enqueue_kernel(q, kernel, CL_COMMAND_TASK, false, n, waits, event);
}

/* Replaces the memory objects among the arguments by their addresses. */
static cl_int patch_native(cl_context context, char *copy, const void *args, size_t bytes,
	cl_uint n_mems, const cl_mem *mems, const void **locs)
{
	for (cl_uint i = 0; i < n_mems; i++) {
		size_t at = (size_t)((const char *)locs[i] - (const char *)args);

		if (!dcl_is(mems[i], DCL_MEM) || mems[i]->context != context)
			return CL_INVALID_MEM_OBJECT;
		if (at > bytes - sizeof(void *))
			return CL_INVALID_VALUE;
		memcpy(copy + at, &mems[i]->data, sizeof(void *));
	}
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clEnqueueNativeKernel(cl_command_queue q,
	void(CL_CALLBACK *fn)(void *), void *args, size_t bytes, cl_uint n_mems,
	const cl_mem *mems, const void **locs, cl_uint n, const cl_event *waits,
	cl_event *event)
{
	struct dcl_cmd *cmd;
	char *copy;
	cl_int rc;

	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!fn || (args == NULL) != (bytes == 0) ||
		(n_mems && (!args || !mems || !locs)) || (!n_mems && (mems || locs)) ||
		(n_mems && bytes < sizeof(void *)))
		return CL_INVALID_VALUE;
	copy = malloc(bytes ? bytes : 1);
	if (!copy)
		return CL_OUT_OF_HOST_MEMORY;
	if (bytes)
		memcpy(copy, args, bytes);
	rc = patch_native(q->context, copy, args, bytes, n_mems, mems, locs);
	if (rc == CL_SUCCESS) {
		cmd = dcl_cmd_begin(
			q, CL_COMMAND_NATIVE_KERNEL, n, waits, event != NULL, &rc);
		if (cmd) {
			cmd->op = DCL_OP_NATIVE;
			cmd->u.native = (struct dcl_native){.fn = fn, .args = copy};
			for (cl_uint i = 0; i < n_mems; i++)
				dcl_cmd_use(cmd, mems[i]);
			return dcl_cmd_commit(cmd, event);
		}
	}
	free(copy);
	return rc;
}

static cl_int enqueue_order(cl_command_queue q, cl_command_type type,
	enum dcl_order order, cl_uint n, const cl_event *waits, cl_event *event)
{
	struct dcl_cmd *cmd;
	cl_int rc;

	cmd = dcl_cmd_begin(q, type, n, waits, event != NULL, &rc);
	if (!cmd)
		return rc;
	cmd->order = (uint8_t)order;
	return dcl_cmd_commit(cmd, event);
}

cl_int CL_API_CALL dcl_clEnqueueMarkerWithWaitList(
	cl_command_queue q, cl_uint n, const cl_event *waits, cl_event *event)
{
	return enqueue_order(q, CL_COMMAND_MARKER, DCL_MARKER, n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueBarrierWithWaitList(
	cl_command_queue q, cl_uint n, const cl_event *waits, cl_event *event)
{
	return enqueue_order(q, CL_COMMAND_BARRIER, DCL_BARRIER, n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueMarker(cl_command_queue q, cl_event *event)
{
	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!event)
		return CL_INVALID_VALUE;
	return enqueue_order(q, CL_COMMAND_MARKER, DCL_MARKER, 0, NULL, event);
}

cl_int CL_API_CALL dcl_clEnqueueBarrier(cl_command_queue q)
{
	return enqueue_order(q, CL_COMMAND_BARRIER, DCL_BARRIER, 0, NULL, NULL);
}

cl_int CL_API_CALL dcl_clEnqueueWaitForEvents(
	cl_command_queue q, cl_uint n, const cl_event *waits)
{
	cl_int rc;

	if (n == 0 || !waits)
		return dcl_is(q, DCL_QUEUE) ? CL_INVALID_VALUE : CL_INVALID_COMMAND_QUEUE;
	rc = enqueue_order(q, CL_COMMAND_BARRIER, DCL_BARRIER, n, waits, NULL);
	return rc == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : rc;
}
