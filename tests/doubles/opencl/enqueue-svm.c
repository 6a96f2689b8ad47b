/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"
#include "entries.h"
#include "object.h"
#include "svm.h"
#include <stdlib.h>
#include <string.h>

/* Commands on plain pointers: SVM and Intel's unified shared memory. */

static cl_int enqueue_copy(cl_command_queue q, cl_command_type type, cl_bool blocking,
	void *dst, const void *src, size_t bytes, cl_uint n, const cl_event *waits,
	cl_event *event)
{
	struct dcl_cmd *cmd;
	cl_int rc;

	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (bytes && (!dst || !src))
		return CL_INVALID_VALUE;
	if ((const char *)dst < (const char *)src + bytes &&
		(const char *)src < (const char *)dst + bytes)
		return CL_MEM_COPY_OVERLAP;
	cmd = dcl_cmd_begin(q, type, n, waits, event != NULL, &rc);
	if (!cmd)
		return rc;
	cmd->op = DCL_OP_RECT;
	cmd->u.rect = (struct dcl_rect){.dst = dst, .src = src, .region = {bytes, 1, 1}};
	return dcl_cmd_commit_blocking(cmd, event, blocking);
}

static cl_int enqueue_fill(cl_command_queue q, cl_command_type type, void *dst,
	const void *pattern, size_t pattern_bytes, size_t bytes, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	struct dcl_cmd *cmd;
	cl_int rc;

	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!dst || !pattern || pattern_bytes == 0 || pattern_bytes > 128 ||
		(pattern_bytes & (pattern_bytes - 1)) || bytes % pattern_bytes ||
		(uintptr_t)dst % pattern_bytes)
		return CL_INVALID_VALUE;
	cmd = dcl_cmd_begin(q, type, n, waits, event != NULL, &rc);
	if (!cmd)
		return rc;
	cmd->op = DCL_OP_FILL;
	cmd->u.fill = (struct dcl_fill){
		.dst = dst, .region = {bytes, 1, 1}, .pattern_bytes = pattern_bytes};
	memcpy(cmd->u.fill.pattern, pattern, pattern_bytes);
	return dcl_cmd_commit(cmd, event);
}

/* A command that takes its turn on the device and moves nothing. */
static cl_int enqueue_turn(cl_command_queue q, cl_command_type type, cl_bool blocking,
	cl_uint n, const cl_event *waits, cl_event *event)
{
	struct dcl_cmd *cmd;
	cl_int rc;

	cmd = dcl_cmd_begin(q, type, n, waits, event != NULL, &rc);
	if (!cmd)
		return rc;
	cmd->op = DCL_OP_RECT;
	cmd->u.rect = (struct dcl_rect){0};
	return dcl_cmd_commit_blocking(cmd, event, blocking);
}

cl_int CL_API_CALL dcl_clEnqueueSVMMemcpy(cl_command_queue q, cl_bool blocking, void *dst,
	const void *src, size_t bytes, cl_uint n, const cl_event *waits, cl_event *event)
{
	return enqueue_copy(
		q, CL_COMMAND_SVM_MEMCPY, blocking, dst, src, bytes, n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueMemcpyINTEL(cl_command_queue q, cl_bool blocking,
	void *dst, const void *src, size_t bytes, cl_uint n, const cl_event *waits,
	cl_event *event)
{
	return enqueue_copy(
		q, CL_COMMAND_MEMCPY_INTEL, blocking, dst, src, bytes, n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueSVMMemFill(cl_command_queue q, void *dst,
	const void *pattern, size_t pattern_bytes, size_t bytes, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	return enqueue_fill(q, CL_COMMAND_SVM_MEMFILL, dst, pattern, pattern_bytes, bytes,
		n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueMemFillINTEL(cl_command_queue q, void *dst,
	const void *pattern, size_t pattern_bytes, size_t bytes, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	return enqueue_fill(q, CL_COMMAND_MEMFILL_INTEL, dst, pattern, pattern_bytes,
		bytes, n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueSVMMap(cl_command_queue q, cl_bool blocking,
	cl_map_flags flags, void *pointer, size_t bytes, cl_uint n, const cl_event *waits,
	cl_event *event)
{
	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!pointer || bytes == 0 || flags == 0 || !dcl_svm_find(pointer, NULL))
		return CL_INVALID_VALUE;
	return enqueue_turn(q, CL_COMMAND_SVM_MAP, blocking, n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueSVMUnmap(cl_command_queue q, void *pointer, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!pointer || !dcl_svm_find(pointer, NULL))
		return CL_INVALID_VALUE;
	return enqueue_turn(q, CL_COMMAND_SVM_UNMAP, CL_FALSE, n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueSVMMigrateMem(cl_command_queue q, cl_uint n_pointers,
	const void **pointers, const size_t *sizes, cl_mem_migration_flags flags,
	cl_uint n, const cl_event *waits, cl_event *event)
{
	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (n_pointers == 0 || !pointers)
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < n_pointers; i++)
		if (!dcl_svm_find(pointers[i], NULL))
			return CL_INVALID_VALUE;
	return enqueue_turn(q, CL_COMMAND_SVM_MIGRATE_MEM, CL_FALSE, n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueMigrateMemINTEL(cl_command_queue q, const void *pointer,
	size_t bytes, cl_mem_migration_flags flags, cl_uint n, const cl_event *waits,
	cl_event *event)
{
	if (!pointer)
		return CL_INVALID_VALUE;
	return enqueue_turn(q, CL_COMMAND_MIGRATEMEM_INTEL, CL_FALSE, n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueMemAdviseINTEL(cl_command_queue q, const void *pointer,
	size_t bytes, cl_mem_advice_intel advice, cl_uint n, const cl_event *waits,
	cl_event *event)
{
	if (!pointer)
		return CL_INVALID_VALUE;
	return enqueue_turn(q, CL_COMMAND_MEMADVISE_INTEL, CL_FALSE, n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueSVMFree(cl_command_queue q, cl_uint n_pointers,
	void *pointers[],
	void(CL_CALLBACK *fn)(cl_command_queue, cl_uint, void *[], void *), void *user,
	cl_uint n, const cl_event *waits, cl_event *event)
{
	struct dcl_cmd *cmd;
	void **copy;
	cl_int rc;

	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (n_pointers == 0 || !pointers)
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < n_pointers; i++)
		if (!pointers[i])
			return CL_INVALID_VALUE;
	copy = malloc(n_pointers * sizeof(*copy));
	if (!copy)
		return CL_OUT_OF_HOST_MEMORY;
	memcpy(copy, pointers, n_pointers * sizeof(*copy));
	cmd = dcl_cmd_begin(q, CL_COMMAND_SVM_FREE, n, waits, event != NULL, &rc);
	if (!cmd) {
		free(copy);
		return rc;
	}
	cmd->op = DCL_OP_SVM_FREE;
	cmd->u.svm_free = (struct dcl_svm_free){
		.fn = fn, .user = user, .n = n_pointers, .pointers = copy};
	return dcl_cmd_commit(cmd, event);
}
