/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"
#include "entries.h"
#include "mem.h"
#include "object.h"
#include <string.h>

/* Reads, writes, copies, fills and maps of buffers.  All become one rectangle of bytes to
 * move, or one to fill. */

static bool in_bounds(size_t at, size_t bytes, size_t limit)
{
	return at <= limit && bytes <= limit - at;
}

static struct dcl_rect line(void *dst, const void *src, size_t bytes)
{
	return (struct dcl_rect){.dst = dst, .src = src, .region = {bytes, 1, 1}};
}

static cl_int enqueue_rect(cl_command_queue q, cl_command_type type,
	const struct dcl_rect *rect, cl_mem a, cl_mem b, cl_bool blocking, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	struct dcl_cmd *cmd;
	cl_int rc;

	cmd = dcl_cmd_begin(q, type, n, waits, event != NULL, &rc);
	if (!cmd)
		return rc;
	cmd->op = DCL_OP_RECT;
	cmd->u.rect = *rect;
	dcl_cmd_use(cmd, a);
	if (b)
		dcl_cmd_use(cmd, b);
	return dcl_cmd_commit_blocking(cmd, event, blocking);
}

static cl_int check_host(
	cl_command_queue q, cl_mem mem, const void *host, cl_mem_flags forbidden)
{
	cl_int rc;

	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	rc = dcl_buffer_check(mem, q->context);
	if (rc)
		return rc;
	if (!host)
		return CL_INVALID_VALUE;
	return mem->flags & (forbidden | CL_MEM_HOST_NO_ACCESS) ? CL_INVALID_OPERATION
								: CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clEnqueueReadBuffer(cl_command_queue q, cl_mem mem,
	cl_bool blocking, size_t at, size_t bytes, void *host, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	cl_int rc = check_host(q, mem, host, CL_MEM_HOST_WRITE_ONLY);
	struct dcl_rect rect;

	if (rc)
		return rc;
	if (!in_bounds(at, bytes, mem->bytes))
		return CL_INVALID_VALUE;
	rect = line(host, mem->data + at, bytes);
	return enqueue_rect(
		q, CL_COMMAND_READ_BUFFER, &rect, mem, NULL, blocking, n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueWriteBuffer(cl_command_queue q, cl_mem mem,
	cl_bool blocking, size_t at, size_t bytes, const void *host, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	cl_int rc = check_host(q, mem, host, CL_MEM_HOST_READ_ONLY);
	struct dcl_rect rect;

	if (rc)
		return rc;
	if (!in_bounds(at, bytes, mem->bytes))
		return CL_INVALID_VALUE;
	rect = line(mem->data + at, host, bytes);
	return enqueue_rect(
		q, CL_COMMAND_WRITE_BUFFER, &rect, mem, NULL, blocking, n, waits, event);
}

static cl_int check_pair(cl_command_queue q, cl_mem src, cl_mem dst)
{
	cl_int rc;

	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	rc = dcl_buffer_check(src, q->context);
	return rc ? rc : dcl_buffer_check(dst, q->context);
}

cl_int CL_API_CALL dcl_clEnqueueCopyBuffer(cl_command_queue q, cl_mem src, cl_mem dst,
	size_t src_at, size_t dst_at, size_t bytes, cl_uint n, const cl_event *waits,
	cl_event *event)
{
	cl_int rc = check_pair(q, src, dst);
	struct dcl_rect rect;

	if (rc)
		return rc;
	if (bytes == 0 || !in_bounds(src_at, bytes, src->bytes) ||
		!in_bounds(dst_at, bytes, dst->bytes))
		return CL_INVALID_VALUE;
	rect = line(dst->data + dst_at, src->data + src_at, bytes);
	if (rect.dst < rect.src + bytes && rect.src < rect.dst + bytes)
		return CL_MEM_COPY_OVERLAP;
	return enqueue_rect(
		q, CL_COMMAND_COPY_BUFFER, &rect, src, dst, CL_FALSE, n, waits, event);
}

/* One side of a rectangle: complete pitches, the offset and the end of the last byte. */
struct side {
	size_t row, slice, at, end;
};

static cl_int read_side(const size_t *origin, const size_t *region, size_t row,
	size_t slice, struct side *ret)
{
	if (!origin || !region || !region[0] || !region[1] || !region[2])
		return CL_INVALID_VALUE;
	ret->row = row ? row : region[0];
	ret->slice = slice ? slice : ret->row * region[1];
	if (ret->row < region[0] || ret->slice < ret->row * region[1] ||
		ret->slice % ret->row)
		return CL_INVALID_VALUE;
	ret->at = origin[0] + origin[1] * ret->row + origin[2] * ret->slice;
	ret->end = ret->at + (region[2] - 1) * ret->slice + (region[1] - 1) * ret->row +
		   region[0];
	return CL_SUCCESS;
}

static struct dcl_rect rect_of(uint8_t *dst, const struct side *d, const uint8_t *src,
	const struct side *s, const size_t *region)
{
	return (struct dcl_rect){
		.dst = dst + d->at,
		.src = src + s->at,
		.dst_row = d->row,
		.dst_slice = d->slice,
		.src_row = s->row,
		.src_slice = s->slice,
		.region = {region[0], region[1], region[2]},
	};
}

cl_int CL_API_CALL dcl_clEnqueueReadBufferRect(cl_command_queue q, cl_mem mem,
	cl_bool blocking, const size_t *origin, const size_t *host_origin,
	const size_t *region, size_t row, size_t slice, size_t host_row,
	size_t host_slice, void *host, cl_uint n, const cl_event *waits, cl_event *event)
{
	cl_int rc = check_host(q, mem, host, CL_MEM_HOST_WRITE_ONLY);
	struct side device, outside;
	struct dcl_rect rect;

	if (!rc)
		rc = read_side(origin, region, row, slice, &device);
	if (!rc)
		rc = read_side(host_origin, region, host_row, host_slice, &outside);
	if (rc)
		return rc;
	if (device.end > mem->bytes)
		return CL_INVALID_VALUE;
	rect = rect_of(host, &outside, mem->data, &device, region);
	return enqueue_rect(q, CL_COMMAND_READ_BUFFER_RECT, &rect, mem, NULL, blocking, n,
		waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueWriteBufferRect(cl_command_queue q, cl_mem mem,
	cl_bool blocking, const size_t *origin, const size_t *host_origin,
	const size_t *region, size_t row, size_t slice, size_t host_row,
	size_t host_slice, const void *host, cl_uint n, const cl_event *waits,
	cl_event *event)
{
	cl_int rc = check_host(q, mem, host, CL_MEM_HOST_READ_ONLY);
	struct side device, outside;
	struct dcl_rect rect;

	if (!rc)
		rc = read_side(origin, region, row, slice, &device);
	if (!rc)
		rc = read_side(host_origin, region, host_row, host_slice, &outside);
	if (rc)
		return rc;
	if (device.end > mem->bytes)
		return CL_INVALID_VALUE;
	rect = rect_of(mem->data, &device, host, &outside, region);
	return enqueue_rect(q, CL_COMMAND_WRITE_BUFFER_RECT, &rect, mem, NULL, blocking,
		n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueCopyBufferRect(cl_command_queue q, cl_mem src, cl_mem dst,
	const size_t *src_origin, const size_t *dst_origin, const size_t *region,
	size_t src_row, size_t src_slice, size_t dst_row, size_t dst_slice, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	cl_int rc = check_pair(q, src, dst);
	struct side from, to;
	struct dcl_rect rect;

	if (!rc)
		rc = read_side(src_origin, region, src_row, src_slice, &from);
	if (!rc)
		rc = read_side(dst_origin, region, dst_row, dst_slice, &to);
	if (rc)
		return rc;
	if (from.end > src->bytes || to.end > dst->bytes)
		return CL_INVALID_VALUE;
	if (src == dst && from.at < to.end && to.at < from.end)
		return CL_MEM_COPY_OVERLAP;
	rect = rect_of(dst->data, &to, src->data, &from, region);
	return enqueue_rect(q, CL_COMMAND_COPY_BUFFER_RECT, &rect, src, dst, CL_FALSE, n,
		waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueFillBuffer(cl_command_queue q, cl_mem mem,
	const void *pattern, size_t pattern_bytes, size_t at, size_t bytes, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	struct dcl_cmd *cmd;
	cl_int rc;

	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	rc = dcl_buffer_check(mem, q->context);
	if (rc)
		return rc;
	if (!pattern || pattern_bytes == 0 || pattern_bytes > 128 ||
		(pattern_bytes & (pattern_bytes - 1)) || at % pattern_bytes ||
		bytes % pattern_bytes || !in_bounds(at, bytes, mem->bytes))
		return CL_INVALID_VALUE;
	cmd = dcl_cmd_begin(q, CL_COMMAND_FILL_BUFFER, n, waits, event != NULL, &rc);
	if (!cmd)
		return rc;
	cmd->op = DCL_OP_FILL;
	cmd->u.fill = (struct dcl_fill){
		.dst = mem->data + at,
		.region = {bytes, 1, 1},
		.pattern_bytes = pattern_bytes,
	};
	memcpy(cmd->u.fill.pattern, pattern, pattern_bytes);
	dcl_cmd_use(cmd, mem);
	return dcl_cmd_commit(cmd, event);
}

static cl_int check_map(cl_mem mem, cl_map_flags flags)
{
	const cl_map_flags known =
		CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;

	if (flags == 0 || (flags & ~known))
		return CL_INVALID_VALUE;
	if ((mem->flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)) &&
		(flags & CL_MAP_READ))
		return CL_INVALID_OPERATION;
	if ((mem->flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)) &&
		(flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)))
		return CL_INVALID_OPERATION;
	return CL_SUCCESS;
}

/* The bytes are not moved: a map is a command without effect, in the queue's order. */
static void *enqueue_map(cl_command_queue q, cl_command_type type, cl_mem mem,
	void *pointer, cl_bool blocking, cl_uint n, const cl_event *waits,
	cl_event *event, cl_int *errcode_ret)
{
	struct dcl_cmd *cmd;
	cl_int rc;

	cmd = dcl_cmd_begin(
		q, type, n, waits, event != NULL, errcode_ret ? errcode_ret : &rc);
	if (!cmd)
		return NULL;
	cmd->op = DCL_OP_RECT;
	cmd->u.rect = (struct dcl_rect){0};
	dcl_cmd_use(cmd, mem);
	rc = dcl_cmd_commit_blocking(cmd, event, blocking);
	if (!rc && !dcl_mem_map_add(mem, pointer))
		rc = CL_OUT_OF_HOST_MEMORY;
	dcl_set_error(errcode_ret, rc);
	return rc ? NULL : pointer;
}

void *CL_API_CALL dcl_clEnqueueMapBuffer(cl_command_queue q, cl_mem mem, cl_bool blocking,
	cl_map_flags flags, size_t at, size_t bytes, cl_uint n, const cl_event *waits,
	cl_event *event, cl_int *errcode_ret)
{
	cl_int rc;

	if (!dcl_is(q, DCL_QUEUE))
		return dcl_fail(errcode_ret, CL_INVALID_COMMAND_QUEUE);
	rc = dcl_buffer_check(mem, q->context);
	if (!rc)
		rc = check_map(mem, flags);
	if (!rc && (bytes == 0 || !in_bounds(at, bytes, mem->bytes)))
		rc = CL_INVALID_VALUE;
	if (rc)
		return dcl_fail(errcode_ret, rc);
	return enqueue_map(q, CL_COMMAND_MAP_BUFFER, mem, mem->data + at, blocking, n,
		waits, event, errcode_ret);
}

void *CL_API_CALL dcl_clEnqueueMapImage(cl_command_queue q, cl_mem mem, cl_bool blocking,
	cl_map_flags flags, const size_t *origin, const size_t *region, size_t *row,
	size_t *slice, cl_uint n, const cl_event *waits, cl_event *event,
	cl_int *errcode_ret)
{
	size_t dims[3], at;
	cl_int rc;

	if (!dcl_is(q, DCL_QUEUE))
		return dcl_fail(errcode_ret, CL_INVALID_COMMAND_QUEUE);
	rc = dcl_image_check(mem, q->context);
	if (!rc)
		rc = check_map(mem, flags);
	if (!rc && (!origin || !region || !row))
		rc = CL_INVALID_VALUE;
	if (rc)
		return dcl_fail(errcode_ret, rc);
	dcl_image_dims(mem, dims);
	for (int i = 0; i < 3; i++)
		if (region[i] == 0 || !in_bounds(origin[i], region[i], dims[i]))
			return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	if (!slice && (dims[2] > 1 || mem->type == CL_MEM_OBJECT_IMAGE1D_ARRAY))
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	*row = mem->row_bytes;
	if (slice)
		*slice = dims[2] > 1 || mem->type == CL_MEM_OBJECT_IMAGE1D_ARRAY
				 ? mem->slice_bytes
				 : 0;
	at = origin[0] * mem->element_bytes + origin[1] * dcl_image_row_stride(mem) +
	     origin[2] * mem->slice_bytes;
	return enqueue_map(q, CL_COMMAND_MAP_IMAGE, mem, mem->data + at, blocking, n,
		waits, event, errcode_ret);
}

cl_int CL_API_CALL dcl_clEnqueueUnmapMemObject(cl_command_queue q, cl_mem mem,
	void *pointer, cl_uint n, const cl_event *waits, cl_event *event)
{
	struct dcl_rect nothing = {0};
	cl_int rc;

	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	rc = dcl_mem_check(mem, q->context);
	if (rc)
		return rc;
	if (!dcl_mem_map_remove(mem, pointer))
		return CL_INVALID_VALUE;
	rc = enqueue_rect(q, CL_COMMAND_UNMAP_MEM_OBJECT, &nothing, mem, NULL, CL_FALSE,
		n, waits, event);
	if (rc)
		dcl_mem_map_add(mem, pointer);
	return rc;
}

cl_int CL_API_CALL dcl_clEnqueueMigrateMemObjects(cl_command_queue q, cl_uint n_mems,
	const cl_mem *mems, cl_mem_migration_flags flags, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	const cl_mem_migration_flags known =
		CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
	struct dcl_cmd *cmd;
	cl_int rc;

	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (n_mems == 0 || !mems || (flags & ~known))
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < n_mems; i++) {
		rc = dcl_mem_check(mems[i], q->context);
		if (rc)
			return rc;
	}
	cmd = dcl_cmd_begin(
		q, CL_COMMAND_MIGRATE_MEM_OBJECTS, n, waits, event != NULL, &rc);
	if (!cmd)
		return rc;
	cmd->op = DCL_OP_RECT;
	cmd->u.rect = (struct dcl_rect){0};
	for (cl_uint i = 0; i < n_mems; i++)
		dcl_cmd_use(cmd, mems[i]);
	return dcl_cmd_commit(cmd, event);
}
