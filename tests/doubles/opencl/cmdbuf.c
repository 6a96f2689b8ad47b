/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"
#include "entries.h"
#include "info.h"
#include "kernel.h"
#include "mem.h"
#include "object.h"
#include <stdlib.h>
#include <string.h>

/* cl_khr_command_buffer: recorded commands that run as one, in the order of recording,
 * which satisfies any sync points.  One queue a buffer, no mutable commands.  And
 * cl_khr_command_buffer_multi_device's copy of a command buffer for another queue. */

static bool readable(cl_command_buffer_khr b)
{
	return dcl_is(b, DCL_CMDBUF);
}

static cl_int read_props(
	const cl_command_buffer_properties_khr *list, cl_command_buffer_khr b)
{
	size_t n = 0;

	for (; list && list[n]; n += 2) {
		if (list[n] != CL_COMMAND_BUFFER_FLAGS_KHR || n > 0 ||
			(list[n + 1] & ~(cl_command_buffer_properties_khr)
					       CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR))
			return CL_INVALID_VALUE;
		b->props[n] = list[n];
		b->props[n + 1] = list[n + 1];
		b->simultaneous = list[n + 1] & CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR;
	}
	b->props_bytes = list ? (n + 1) * sizeof(*list) : 0;
	return CL_SUCCESS;
}

cl_command_buffer_khr CL_API_CALL dcl_clCreateCommandBufferKHR(cl_uint n,
	const cl_command_queue *queues,
	const cl_command_buffer_properties_khr *properties, cl_int *errcode_ret)
{
	struct _cl_command_buffer_khr probe = {0};
	cl_command_buffer_khr b;
	cl_int rc;

	if (n != 1 || !queues)
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	if (!dcl_is(queues[0], DCL_QUEUE))
		return dcl_fail(errcode_ret, CL_INVALID_COMMAND_QUEUE);
	rc = read_props(properties, &probe);
	if (rc)
		return dcl_fail(errcode_ret, rc);
	b = dcl_object_new(DCL_CMDBUF);
	if (!b)
		return dcl_fail(errcode_ret, CL_OUT_OF_HOST_MEMORY);
	read_props(properties, b);
	dcl_object_pin(queues[0]);
	b->queue = queues[0];
	b->state = CL_COMMAND_BUFFER_STATE_RECORDING_KHR;
	b->steps_tail = &b->steps;
	dcl_set_error(errcode_ret, CL_SUCCESS);
	return b;
}

void dcl_cmdbuf_destroy(void *object)
{
	cl_command_buffer_khr b = object;
	cl_command_queue q = b->queue;
	struct dcl_cmd *step;

	while ((step = b->steps)) {
		b->steps = step->next;
		dcl_cmd_free_op(step);
		free(step);
	}
	dcl_object_recycle(b);
	dcl_object_unpin(q);
}

cl_int CL_API_CALL dcl_clFinalizeCommandBufferKHR(cl_command_buffer_khr b)
{
	if (!readable(b))
		return CL_INVALID_COMMAND_BUFFER_KHR;
	if (b->state != CL_COMMAND_BUFFER_STATE_RECORDING_KHR)
		return CL_INVALID_OPERATION;
	b->state = CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR;
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clRetainCommandBufferKHR(cl_command_buffer_khr b)
{
	return dcl_object_retain(b, DCL_CMDBUF);
}

cl_int CL_API_CALL dcl_clReleaseCommandBufferKHR(cl_command_buffer_khr b)
{
	return dcl_object_release(b, DCL_CMDBUF);
}

cl_int CL_API_CALL dcl_clEnqueueCommandBufferKHR(cl_uint n_queues,
	cl_command_queue *queues, cl_command_buffer_khr b, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	cl_command_queue q;
	struct dcl_cmd *cmd;
	cl_int rc;

	if (!readable(b))
		return CL_INVALID_COMMAND_BUFFER_KHR;
	if (n_queues > 1 || (n_queues == 0) != (queues == NULL))
		return CL_INVALID_VALUE;
	q = n_queues ? queues[0] : b->queue;
	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (q->context != b->queue->context)
		return CL_INVALID_CONTEXT;
	if (q->device != b->queue->device || q->props != b->queue->props)
		return CL_INCOMPATIBLE_COMMAND_QUEUE_KHR;
	if (b->state == CL_COMMAND_BUFFER_STATE_RECORDING_KHR)
		return CL_INVALID_OPERATION;
	if (atomic_fetch_add(&b->pending, 1) > 0 && !b->simultaneous) {
		atomic_fetch_sub(&b->pending, 1);
		return CL_INVALID_OPERATION;
	}
	cmd = dcl_cmd_begin(
		q, CL_COMMAND_COMMAND_BUFFER_KHR, n, waits, event != NULL, &rc);
	if (!cmd) {
		atomic_fetch_sub(&b->pending, 1);
		return rc;
	}
	dcl_object_pin(b);
	cmd->op = DCL_OP_CMDBUF;
	cmd->u.cmdbuf = b;
	return dcl_cmd_commit(cmd, event);
}

static cl_int check_record(cl_command_buffer_khr b, cl_command_queue q, cl_uint n_points,
	const cl_sync_point_khr *points, const cl_mutable_command_khr *mutable)
{
	if (!readable(b))
		return CL_INVALID_COMMAND_BUFFER_KHR;
	if (q)
		return CL_INVALID_COMMAND_QUEUE;
	if (b->state != CL_COMMAND_BUFFER_STATE_RECORDING_KHR)
		return CL_INVALID_OPERATION;
	if (mutable)
		return CL_INVALID_VALUE;
	if ((n_points == 0) != (points == NULL))
		return CL_INVALID_SYNC_POINT_WAIT_LIST_KHR;
	for (cl_uint i = 0; i < n_points; i++)
		if (points[i] == 0 || points[i] > b->n_steps)
			return CL_INVALID_SYNC_POINT_WAIT_LIST_KHR;
	return CL_SUCCESS;
}

static struct dcl_cmd *record(cl_command_buffer_khr b, cl_sync_point_khr *point)
{
	struct dcl_cmd *step = calloc(1, sizeof(*step));

	if (!step)
		return NULL;
	step->queue = b->queue;
	step->mems = step->mems_inline;
	*b->steps_tail = step;
	b->steps_tail = &step->next;
	b->n_steps++;
	if (point)
		*point = b->n_steps;
	return step;
}

cl_int CL_API_CALL dcl_clCommandNDRangeKernelKHR(cl_command_buffer_khr b,
	cl_command_queue q, const cl_ndrange_kernel_command_properties_khr *properties,
	cl_kernel kernel, cl_uint dims, const size_t *offset, const size_t *global,
	const size_t *local, cl_uint n_points, const cl_sync_point_khr *points,
	cl_sync_point_khr *point, cl_mutable_command_khr *mutable)
{
	cl_int rc = check_record(b, q, n_points, points, mutable);
	struct dcl_cmd *step;

	if (rc)
		return rc;
	if (properties && properties[0])
		return CL_INVALID_VALUE;
	if (dims < 1 || dims > 3)
		return CL_INVALID_WORK_DIMENSION;
	if (!global)
		return CL_INVALID_GLOBAL_WORK_SIZE;
	rc = dcl_kernel_check(kernel, b->queue->context);
	if (rc)
		return rc;
	step = record(b, point);
	if (!step)
		return CL_OUT_OF_HOST_MEMORY;
	step->op = DCL_OP_KERNEL;
	step->kernel_ns = kernel->kernel_ns;
	for (cl_uint i = 0; i < DCL_MAX_ARGS; i++)
		if (kernel->args[i].mem)
			dcl_cmd_use(step, kernel->args[i].mem);
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clCommandBarrierWithWaitListKHR(cl_command_buffer_khr b,
	cl_command_queue q, cl_uint n_points, const cl_sync_point_khr *points,
	cl_sync_point_khr *point, cl_mutable_command_khr *mutable)
{
	cl_int rc = check_record(b, q, n_points, points, mutable);

	if (rc)
		return rc;
	return record(b, point) ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

cl_int CL_API_CALL dcl_clCommandCopyBufferKHR(cl_command_buffer_khr b, cl_command_queue q,
	cl_mem src, cl_mem dst, size_t src_at, size_t dst_at, size_t bytes,
	cl_uint n_points, const cl_sync_point_khr *points, cl_sync_point_khr *point,
	cl_mutable_command_khr *mutable)
{
	cl_int rc = check_record(b, q, n_points, points, mutable);
	struct dcl_cmd *step;

	if (!rc)
		rc = dcl_buffer_check(src, b->queue->context);
	if (!rc)
		rc = dcl_buffer_check(dst, b->queue->context);
	if (rc)
		return rc;
	if (bytes == 0 || src_at > src->bytes || bytes > src->bytes - src_at ||
		dst_at > dst->bytes || bytes > dst->bytes - dst_at)
		return CL_INVALID_VALUE;
	step = record(b, point);
	if (!step)
		return CL_OUT_OF_HOST_MEMORY;
	step->op = DCL_OP_RECT;
	step->u.rect = (struct dcl_rect){.dst = dst->data + dst_at,
		.src = src->data + src_at,
		.region = {bytes, 1, 1}};
	dcl_cmd_use(step, src);
	dcl_cmd_use(step, dst);
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clCommandFillBufferKHR(cl_command_buffer_khr b, cl_command_queue q,
	cl_mem mem, const void *pattern, size_t pattern_bytes, size_t at, size_t bytes,
	cl_uint n_points, const cl_sync_point_khr *points, cl_sync_point_khr *point,
	cl_mutable_command_khr *mutable)
{
	cl_int rc = check_record(b, q, n_points, points, mutable);
	struct dcl_cmd *step;

	if (!rc)
		rc = dcl_buffer_check(mem, b->queue->context);
	if (rc)
		return rc;
	if (!pattern || pattern_bytes == 0 || pattern_bytes > 128 ||
		(pattern_bytes & (pattern_bytes - 1)) || at % pattern_bytes ||
		bytes % pattern_bytes || at > mem->bytes || bytes > mem->bytes - at)
		return CL_INVALID_VALUE;
	step = record(b, point);
	if (!step)
		return CL_OUT_OF_HOST_MEMORY;
	step->op = DCL_OP_FILL;
	step->u.fill = (struct dcl_fill){.dst = mem->data + at,
		.region = {bytes, 1, 1},
		.pattern_bytes = pattern_bytes};
	memcpy(step->u.fill.pattern, pattern, pattern_bytes);
	dcl_cmd_use(step, mem);
	return CL_SUCCESS;
}

static bool copy_steps(cl_command_buffer_khr from, cl_command_buffer_khr to)
{
	for (const struct dcl_cmd *step = from->steps; step; step = step->next) {
		struct dcl_cmd *copy = record(to, NULL);

		if (!copy)
			return false;
		copy->op = step->op;
		copy->kernel_ns = step->kernel_ns;
		copy->u = step->u;
		for (uint32_t i = 0; i < step->n_mems; i++)
			dcl_cmd_use(copy, step->mems[i]);
	}
	return true;
}

cl_command_buffer_khr CL_API_CALL dcl_clRemapCommandBufferKHR(cl_command_buffer_khr from,
	cl_bool automatic, cl_uint n_queues, const cl_command_queue *queues,
	cl_uint n_handles, const cl_mutable_command_khr *handles,
	cl_mutable_command_khr *ret_handles, cl_int *errcode_ret)
{
	cl_command_buffer_khr b;
	cl_int rc;

	if (!readable(from))
		return dcl_fail(errcode_ret, CL_INVALID_COMMAND_BUFFER_KHR);
	if (automatic || n_handles > 0 || handles || ret_handles)
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	if (from->state == CL_COMMAND_BUFFER_STATE_RECORDING_KHR)
		return dcl_fail(errcode_ret, CL_INVALID_OPERATION);
	b = dcl_clCreateCommandBufferKHR(
		n_queues, queues, from->props_bytes ? from->props : NULL, &rc);
	if (!b)
		return dcl_fail(errcode_ret, rc);
	if (!copy_steps(from, b)) {
		dcl_clReleaseCommandBufferKHR(b);
		return dcl_fail(errcode_ret, CL_OUT_OF_HOST_MEMORY);
	}
	b->state = CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR;
	dcl_set_error(errcode_ret, CL_SUCCESS);
	return b;
}

static const void *info_state(const void *object, size_t *bytes, void *scratch)
{
	const struct _cl_command_buffer_khr *b = object;
	cl_command_buffer_state_khr state = b->state;

	if (atomic_load(&b->pending) > 0)
		state = CL_COMMAND_BUFFER_STATE_PENDING_KHR;
	*bytes = sizeof(state);
	return memcpy(scratch, &state, sizeof(state));
}

/* clang-format off */
static const struct dcl_info cmdbuf_info[] = {
	DCL_F(CL_COMMAND_BUFFER_QUEUES_KHR, struct _cl_command_buffer_khr, queue),
	DCL_C(CL_COMMAND_BUFFER_NUM_QUEUES_KHR, cl_uint, 1),
	DCL_REFS(CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR),
	DCL_M(CL_COMMAND_BUFFER_STATE_KHR, info_state),
	DCL_A(CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR, struct _cl_command_buffer_khr, props,
		props_bytes),
};
/* clang-format on */

cl_int CL_API_CALL dcl_clGetCommandBufferInfoKHR(cl_command_buffer_khr b,
	cl_command_buffer_info_khr param, size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!readable(b))
		return CL_INVALID_COMMAND_BUFFER_KHR;
	return dcl_info_get(
		cmdbuf_info, DCL_ROWS(cmdbuf_info), b, param, bytes, ret, ret_bytes);
}
