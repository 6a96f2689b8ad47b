/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"
#include "entries.h"
#include "image.h"
#include "mem.h"
#include "object.h"
#include <string.h>

/* Reads, writes, copies and fills of images: rectangles of bytes, like those of buffers.
 */

static cl_int check_region(cl_mem image, const size_t *origin, const size_t *region)
{
	size_t dims[3];

	if (!origin || !region)
		return CL_INVALID_VALUE;
	dcl_image_dims(image, dims);
	for (int i = 0; i < 3; i++)
		if (region[i] == 0 || origin[i] > dims[i] ||
			region[i] > dims[i] - origin[i])
			return CL_INVALID_VALUE;
	return CL_SUCCESS;
}

static uint8_t *pixel_at(cl_mem image, const size_t *origin)
{
	return image->data + origin[0] * image->element_bytes +
	       origin[1] * dcl_image_row_stride(image) + origin[2] * image->slice_bytes;
}

static cl_int check_image(
	cl_command_queue q, cl_mem image, const size_t *origin, const size_t *region)
{
	cl_int rc;

	if (!dcl_is(q, DCL_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	rc = dcl_image_check(image, q->context);
	return rc ? rc : check_region(image, origin, region);
}

static cl_int enqueue(cl_command_queue q, cl_command_type type,
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

/* The pitches of the host's copy of a region. */
static cl_int host_pitches(cl_mem image, const size_t *region, size_t *row, size_t *slice)
{
	size_t least = region[0] * image->element_bytes;

	if ((*row && *row < least))
		return CL_INVALID_VALUE;
	if (!*row)
		*row = least;
	if (image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY) {
		if (*slice && *slice < *row)
			return CL_INVALID_VALUE;
		if (*slice)
			*row = *slice;
	}
	if (*slice && image->type != CL_MEM_OBJECT_IMAGE1D_ARRAY &&
		*slice < *row * region[1])
		return CL_INVALID_VALUE;
	if (!*slice)
		*slice = *row * region[1];
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clEnqueueReadImage(cl_command_queue q, cl_mem image,
	cl_bool blocking, const size_t *origin, const size_t *region, size_t row,
	size_t slice, void *host, cl_uint n, const cl_event *waits, cl_event *event)
{
	cl_int rc = check_image(q, image, origin, region);
	struct dcl_rect rect;

	if (!rc)
		rc = host ? host_pitches(image, region, &row, &slice) : CL_INVALID_VALUE;
	if (rc)
		return rc;
	if (image->flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS))
		return CL_INVALID_OPERATION;
	rect = (struct dcl_rect){
		.dst = host,
		.dst_row = row,
		.dst_slice = slice,
		.src = pixel_at(image, origin),
		.src_row = dcl_image_row_stride(image),
		.src_slice = image->slice_bytes,
		.region = {region[0] * image->element_bytes, region[1], region[2]},
	};
	return enqueue(
		q, CL_COMMAND_READ_IMAGE, &rect, image, NULL, blocking, n, waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueWriteImage(cl_command_queue q, cl_mem image,
	cl_bool blocking, const size_t *origin, const size_t *region, size_t row,
	size_t slice, const void *host, cl_uint n, const cl_event *waits, cl_event *event)
{
	cl_int rc = check_image(q, image, origin, region);
	struct dcl_rect rect;

	if (!rc)
		rc = host ? host_pitches(image, region, &row, &slice) : CL_INVALID_VALUE;
	if (rc)
		return rc;
	if (image->flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS))
		return CL_INVALID_OPERATION;
	rect = (struct dcl_rect){
		.dst = pixel_at(image, origin),
		.dst_row = dcl_image_row_stride(image),
		.dst_slice = image->slice_bytes,
		.src = host,
		.src_row = row,
		.src_slice = slice,
		.region = {region[0] * image->element_bytes, region[1], region[2]},
	};
	return enqueue(
		q, CL_COMMAND_WRITE_IMAGE, &rect, image, NULL, blocking, n, waits, event);
}

static bool overlap(const size_t *a, const size_t *b, const size_t *region)
{
	for (int i = 0; i < 3; i++)
		if (a[i] + region[i] <= b[i] || b[i] + region[i] <= a[i])
			return false;
	return true;
}

cl_int CL_API_CALL dcl_clEnqueueCopyImage(cl_command_queue q, cl_mem src, cl_mem dst,
	const size_t *src_origin, const size_t *dst_origin, const size_t *region,
	cl_uint n, const cl_event *waits, cl_event *event)
{
	cl_int rc = check_image(q, src, src_origin, region);
	struct dcl_rect rect;

	if (!rc)
		rc = check_image(q, dst, dst_origin, region);
	if (rc)
		return rc;
	if (memcmp(&src->format, &dst->format, sizeof(src->format)) != 0)
		return CL_IMAGE_FORMAT_MISMATCH;
	if (src == dst && overlap(src_origin, dst_origin, region))
		return CL_MEM_COPY_OVERLAP;
	rect = (struct dcl_rect){
		.dst = pixel_at(dst, dst_origin),
		.dst_row = dcl_image_row_stride(dst),
		.dst_slice = dst->slice_bytes,
		.src = pixel_at(src, src_origin),
		.src_row = dcl_image_row_stride(src),
		.src_slice = src->slice_bytes,
		.region = {region[0] * src->element_bytes, region[1], region[2]},
	};
	return enqueue(
		q, CL_COMMAND_COPY_IMAGE, &rect, src, dst, CL_FALSE, n, waits, event);
}

static bool buffer_holds(cl_mem buffer, size_t at, cl_mem image, const size_t *region)
{
	size_t bytes = region[0] * region[1] * region[2] * image->element_bytes;

	return at <= buffer->bytes && bytes <= buffer->bytes - at;
}

cl_int CL_API_CALL dcl_clEnqueueCopyImageToBuffer(cl_command_queue q, cl_mem src,
	cl_mem dst, const size_t *origin, const size_t *region, size_t at, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	cl_int rc = check_image(q, src, origin, region);
	struct dcl_rect rect;

	if (!rc)
		rc = dcl_buffer_check(dst, q->context);
	if (rc)
		return rc;
	if (!buffer_holds(dst, at, src, region))
		return CL_INVALID_VALUE;
	rect = (struct dcl_rect){
		.dst = dst->data + at,
		.dst_row = region[0] * src->element_bytes,
		.dst_slice = region[0] * region[1] * src->element_bytes,
		.src = pixel_at(src, origin),
		.src_row = dcl_image_row_stride(src),
		.src_slice = src->slice_bytes,
		.region = {region[0] * src->element_bytes, region[1], region[2]},
	};
	return enqueue(q, CL_COMMAND_COPY_IMAGE_TO_BUFFER, &rect, src, dst, CL_FALSE, n,
		waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueCopyBufferToImage(cl_command_queue q, cl_mem src,
	cl_mem dst, size_t at, const size_t *origin, const size_t *region, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	cl_int rc = check_image(q, dst, origin, region);
	struct dcl_rect rect;

	if (!rc)
		rc = dcl_buffer_check(src, q->context);
	if (rc)
		return rc;
	if (!buffer_holds(src, at, dst, region))
		return CL_INVALID_VALUE;
	rect = (struct dcl_rect){
		.dst = pixel_at(dst, origin),
		.dst_row = dcl_image_row_stride(dst),
		.dst_slice = dst->slice_bytes,
		.src = src->data + at,
		.src_row = region[0] * dst->element_bytes,
		.src_slice = region[0] * region[1] * dst->element_bytes,
		.region = {region[0] * dst->element_bytes, region[1], region[2]},
	};
	return enqueue(q, CL_COMMAND_COPY_BUFFER_TO_IMAGE, &rect, src, dst, CL_FALSE, n,
		waits, event);
}

cl_int CL_API_CALL dcl_clEnqueueFillImage(cl_command_queue q, cl_mem image,
	const void *colour, const size_t *origin, const size_t *region, cl_uint n,
	const cl_event *waits, cl_event *event)
{
	cl_int rc = check_image(q, image, origin, region);
	struct dcl_cmd *cmd;

	if (rc)
		return rc;
	if (!colour)
		return CL_INVALID_VALUE;
	cmd = dcl_cmd_begin(q, CL_COMMAND_FILL_IMAGE, n, waits, event != NULL, &rc);
	if (!cmd)
		return rc;
	cmd->op = DCL_OP_FILL;
	cmd->u.fill = (struct dcl_fill){
		.dst = pixel_at(image, origin),
		.row = dcl_image_row_stride(image),
		.slice = image->slice_bytes,
		.region = {region[0] * image->element_bytes, region[1], region[2]},
		.pattern_bytes = image->element_bytes,
	};
	dcl_format_pixel(&image->format, colour, cmd->u.fill.pattern);
	dcl_cmd_use(cmd, image);
	return dcl_cmd_commit(cmd, event);
}
