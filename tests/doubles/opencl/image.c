/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"
#include "device.h"
#include "entries.h"
#include "info.h"
#include "knobs.h"
#include "mem.h"
#include "object.h"
#include <string.h>

/* Images of every shape, as rows of bytes one after the other. There is no tiling and no
 * sampling, because the double's kernels do not read pixels. */

/* clang-format off */
static const struct { cl_channel_order order; uint8_t channels; } orders[] = {
	{ CL_R, 1 }, { CL_A, 1 }, { CL_LUMINANCE, 1 }, { CL_INTENSITY, 1 }, { CL_DEPTH, 1 },
	{ CL_RG, 2 }, { CL_RA, 2 }, { CL_RGB, 3 }, { CL_RGBA, 4 }, { CL_BGRA, 4 },
	{ CL_ARGB, 4 }, { CL_sRGBA, 4 }, { CL_sBGRA, 4 },
};
static const struct { cl_channel_type type; uint8_t bytes; } types[] = {
	{ CL_SNORM_INT8, 1 }, { CL_SNORM_INT16, 2 }, { CL_UNORM_INT8, 1 },
	{ CL_UNORM_INT16, 2 }, { CL_SIGNED_INT8, 1 }, { CL_SIGNED_INT16, 2 },
	{ CL_SIGNED_INT32, 4 }, { CL_UNSIGNED_INT8, 1 }, { CL_UNSIGNED_INT16, 2 },
	{ CL_UNSIGNED_INT32, 4 }, { CL_HALF_FLOAT, 2 }, { CL_FLOAT, 4 },
};
/* clang-format on */

static bool format_fits(cl_channel_order order, cl_channel_type type)
{
	switch (order) {
	case CL_RGB:
		return false; /* only with packed types, which the double lacks */
	case CL_LUMINANCE:
	case CL_INTENSITY:
		return type == CL_UNORM_INT8 || type == CL_UNORM_INT16 ||
		       type == CL_FLOAT || type == CL_SNORM_INT8 ||
		       type == CL_SNORM_INT16 || type == CL_HALF_FLOAT;
	case CL_DEPTH:
		return type == CL_UNORM_INT16 || type == CL_FLOAT;
	case CL_BGRA:
	case CL_ARGB:
		return type == CL_UNORM_INT8 || type == CL_SNORM_INT8 ||
		       type == CL_SIGNED_INT8 || type == CL_UNSIGNED_INT8;
	case CL_sRGBA:
	case CL_sBGRA:
		return type == CL_UNORM_INT8;
	default:
		return true;
	}
}

size_t dcl_format_bytes(
	const cl_image_format *format, size_t *channels, size_t *channel_bytes)
{
	size_t n = 0, bytes = 0;

	for (size_t i = 0; i < DCL_ROWS(orders); i++)
		if (orders[i].order == format->image_channel_order)
			n = orders[i].channels;
	for (size_t i = 0; i < DCL_ROWS(types); i++)
		if (types[i].type == format->image_channel_data_type)
			bytes = types[i].bytes;
	if (!format_fits(format->image_channel_order, format->image_channel_data_type))
		return 0;
	if (channels)
		*channels = n;
	if (channel_bytes)
		*channel_bytes = bytes;
	return n * bytes;
}

void dcl_image_dims(cl_mem image, size_t dims[3])
{
	const cl_image_desc *d = &image->desc;

	dims[0] = d->image_width;
	dims[1] = dims[2] = 1;
	switch (image->type) {
	case CL_MEM_OBJECT_IMAGE1D_ARRAY:
		dims[1] = d->image_array_size;
		break;
	case CL_MEM_OBJECT_IMAGE2D_ARRAY:
		dims[1] = d->image_height;
		dims[2] = d->image_array_size;
		break;
	case CL_MEM_OBJECT_IMAGE2D:
		dims[1] = d->image_height;
		break;
	case CL_MEM_OBJECT_IMAGE3D:
		dims[1] = d->image_height;
		dims[2] = d->image_depth;
		break;
	default:
		break;
	}
}

size_t dcl_image_row_stride(cl_mem image)
{
	return image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? image->slice_bytes
							  : image->row_bytes;
}

cl_int dcl_image_check(cl_mem mem, cl_context context)
{
	cl_int rc = dcl_mem_check(mem, context);

	return rc ? rc : mem->element_bytes ? CL_SUCCESS : CL_INVALID_MEM_OBJECT;
}

/* The limits of each kind: width, height, depth, layers; 0: none. */
/* clang-format off */
static const struct { cl_mem_object_type type; size_t max[4]; } shapes[] = {
	{ CL_MEM_OBJECT_IMAGE1D, { DCL_IMAGE_MAX_2D, 0, 0, 0 } },
	{ CL_MEM_OBJECT_IMAGE1D_BUFFER, { SIZE_MAX, 0, 0, 0 } },
	{ CL_MEM_OBJECT_IMAGE1D_ARRAY, { DCL_IMAGE_MAX_2D, 0, 0, DCL_IMAGE_MAX_ARRAY } },
	{ CL_MEM_OBJECT_IMAGE2D, { DCL_IMAGE_MAX_2D, DCL_IMAGE_MAX_2D, 0, 0 } },
	{ CL_MEM_OBJECT_IMAGE2D_ARRAY,
	  { DCL_IMAGE_MAX_2D, DCL_IMAGE_MAX_2D, 0, DCL_IMAGE_MAX_ARRAY } },
	{ CL_MEM_OBJECT_IMAGE3D, { DCL_IMAGE_MAX_3D, DCL_IMAGE_MAX_3D, DCL_IMAGE_MAX_3D, 0 } },
};
/* clang-format on */

static cl_int check_shape(const cl_image_desc *d)
{
	const size_t have[4] = {
		d->image_width, d->image_height, d->image_depth, d->image_array_size};

	for (size_t i = 0; i < DCL_ROWS(shapes); i++) {
		if (shapes[i].type != d->image_type)
			continue;
		for (int k = 0; k < 4; k++) {
			if (shapes[i].max[k] && have[k] == 0)
				return CL_INVALID_IMAGE_DESCRIPTOR;
			if (shapes[i].max[k] && have[k] > shapes[i].max[k])
				return CL_INVALID_IMAGE_SIZE;
		}
		return CL_SUCCESS;
	}
	return CL_INVALID_IMAGE_DESCRIPTOR;
}

struct layout {
	size_t element, row, slice, bytes;
	size_t dims[3];
};

static cl_int lay_out(const cl_image_desc *d, const cl_image_format *format,
	bool has_source, struct layout *ret)
{
	struct _cl_mem probe = {.type = d->image_type, .desc = *d};
	bool is_1d_array = d->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;

	ret->element = dcl_format_bytes(format, NULL, NULL);
	if (ret->element == 0)
		return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
	if (!has_source && (d->image_row_pitch || d->image_slice_pitch))
		return CL_INVALID_IMAGE_DESCRIPTOR;
	dcl_image_dims(&probe, ret->dims);
	ret->row = d->image_row_pitch ? d->image_row_pitch : ret->dims[0] * ret->element;
	if (ret->row < ret->dims[0] * ret->element || ret->row % ret->element)
		return CL_INVALID_IMAGE_DESCRIPTOR;
	if (is_1d_array) {
		ret->slice = d->image_slice_pitch ? d->image_slice_pitch : ret->row;
		ret->bytes = ret->slice * ret->dims[1];
	} else {
		ret->slice = d->image_slice_pitch ? d->image_slice_pitch
						  : ret->row * ret->dims[1];
		ret->bytes = ret->slice * ret->dims[2];
	}
	if (ret->slice < (is_1d_array ? ret->row : ret->row * ret->dims[1]))
		return CL_INVALID_IMAGE_DESCRIPTOR;
	return CL_SUCCESS;
}

/* Without a given row pitch, the rows have the device's preferred length. */
static void pad_rows(cl_image_desc *d, const cl_image_format *format)
{
	size_t n_bytes = d->image_width * dcl_format_bytes(format, NULL, NULL);

	d->image_row_pitch = (n_bytes + dcl_knobs.row_bytes - 1) / dcl_knobs.row_bytes *
			     dcl_knobs.row_bytes;
	d->image_slice_pitch = 0;
}

static cl_int check_parent(const struct dcl_mem_want *want, const cl_image_desc *d)
{
	cl_int rc;

	if (!want->parent)
		return d->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER
			       ? CL_INVALID_IMAGE_DESCRIPTOR
			       : CL_SUCCESS;
	rc = dcl_mem_check(want->parent, want->context);
	if (rc)
		return rc == CL_INVALID_CONTEXT ? rc : CL_INVALID_IMAGE_DESCRIPTOR;
	if (d->image_type != CL_MEM_OBJECT_IMAGE1D_BUFFER &&
		d->image_type != CL_MEM_OBJECT_IMAGE2D)
		return CL_INVALID_IMAGE_DESCRIPTOR;
	return CL_SUCCESS;
}

static void copy_in(cl_mem mem, const struct layout *host, const void *from)
{
	struct dcl_rect r = {
		.dst = mem->data,
		.src = from,
		.dst_row = dcl_image_row_stride(mem),
		.dst_slice = mem->slice_bytes,
		.src_row = mem->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? host->slice
								    : host->row,
		.src_slice = host->slice,
		.region = {host->dims[0] * host->element, host->dims[1], host->dims[2]},
	};

	for (size_t z = 0; z < r.region[2]; z++)
		for (size_t y = 0; y < r.region[1]; y++)
			memcpy(r.dst + z * r.dst_slice + y * r.dst_row,
				r.src + z * r.src_slice + y * r.src_row, r.region[0]);
}

cl_mem CL_API_CALL dcl_clCreateImageWithProperties(cl_context context,
	const cl_mem_properties *props, cl_mem_flags flags, const cl_image_format *format,
	const cl_image_desc *d, void *host_ptr, cl_int *errcode_ret)
{
	struct layout layout, host = {0};
	struct dcl_mem_want want = {
		.context = context, .host_ptr = host_ptr, .props = props};
	cl_image_desc tight;
	cl_mem mem;
	cl_int rc;

	if (!dcl_is(context, DCL_CONTEXT))
		return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
	if (props && props[0])
		return dcl_fail(errcode_ret, CL_INVALID_PROPERTY);
	if (!format)
		return dcl_fail(errcode_ret, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
	if (!d || d->num_mip_levels || d->num_samples)
		return dcl_fail(errcode_ret, CL_INVALID_IMAGE_DESCRIPTOR);
	want.parent = d->mem_object;
	rc = check_parent(&want, d);
	if (!rc)
		rc = dcl_mem_check_flags(flags, host_ptr);
	if (!rc)
		rc = check_shape(d);
	if (!rc)
		rc = lay_out(d, format, host_ptr || want.parent, &host);
	tight = d ? *d : (cl_image_desc){0};
	if (!(flags & CL_MEM_USE_HOST_PTR) && !want.parent)
		pad_rows(&tight, format);
	if (!rc)
		rc = lay_out(&tight, format, true, &layout);
	if (rc)
		return dcl_fail(errcode_ret, rc);
	if (want.parent && layout.bytes > want.parent->bytes)
		return dcl_fail(errcode_ret, CL_INVALID_IMAGE_SIZE);
	if (layout.bytes > context->devices[0]->max_alloc_bytes)
		return dcl_fail(errcode_ret, CL_MEM_OBJECT_ALLOCATION_FAILURE);

	want.type = d->image_type;
	want.flags =
		flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY)
			? flags
			: flags | (want.parent ? want.parent->flags : CL_MEM_READ_WRITE);
	want.bytes = layout.bytes;
	mem = dcl_mem_new(&want, errcode_ret);
	if (!mem)
		return NULL;
	mem->format = *format;
	mem->desc = *d;
	mem->element_bytes = layout.element;
	mem->row_bytes = layout.row;
	mem->slice_bytes = layout.slice;
	if (flags & CL_MEM_COPY_HOST_PTR)
		copy_in(mem, &host, host_ptr);
	return mem;
}

cl_mem CL_API_CALL dcl_clCreateImage(cl_context context, cl_mem_flags flags,
	const cl_image_format *format, const cl_image_desc *d, void *host_ptr,
	cl_int *errcode_ret)
{
	return dcl_clCreateImageWithProperties(
		context, NULL, flags, format, d, host_ptr, errcode_ret);
}

cl_mem CL_API_CALL dcl_clCreateImage2D(cl_context context, cl_mem_flags flags,
	const cl_image_format *format, size_t width, size_t height, size_t row_pitch,
	void *host_ptr, cl_int *errcode_ret)
{
	cl_image_desc d = {
		.image_type = CL_MEM_OBJECT_IMAGE2D,
		.image_width = width,
		.image_height = height,
		.image_row_pitch = row_pitch,
	};

	if (width == 0 || height == 0)
		return dcl_fail(errcode_ret, CL_INVALID_IMAGE_SIZE);
	return dcl_clCreateImage(context, flags, format, &d, host_ptr, errcode_ret);
}

cl_mem CL_API_CALL dcl_clCreateImage3D(cl_context context, cl_mem_flags flags,
	const cl_image_format *format, size_t width, size_t height, size_t depth,
	size_t row_pitch, size_t slice_pitch, void *host_ptr, cl_int *errcode_ret)
{
	cl_image_desc d = {
		.image_type = CL_MEM_OBJECT_IMAGE3D,
		.image_width = width,
		.image_height = height,
		.image_depth = depth,
		.image_row_pitch = row_pitch,
		.image_slice_pitch = slice_pitch,
	};

	if (width == 0 || height == 0 || depth < 2)
		return dcl_fail(errcode_ret, CL_INVALID_IMAGE_SIZE);
	return dcl_clCreateImage(context, flags, format, &d, host_ptr, errcode_ret);
}

cl_int CL_API_CALL dcl_clGetSupportedImageFormats(cl_context context, cl_mem_flags flags,
	cl_mem_object_type type, cl_uint n, cl_image_format *ret, cl_uint *ret_n)
{
	cl_uint found = 0;

	if (!dcl_is(context, DCL_CONTEXT))
		return CL_INVALID_CONTEXT;
	if (ret && n == 0)
		return CL_INVALID_VALUE;
	for (size_t i = 0; i < DCL_ROWS(orders); i++)
		for (size_t k = 0; k < DCL_ROWS(types); k++) {
			cl_image_format format = {orders[i].order, types[k].type};

			if (!format_fits(format.image_channel_order,
				    format.image_channel_data_type))
				continue;
			if (ret && found < n)
				ret[found] = format;
			found++;
		}
	if (ret_n)
		*ret_n = found;
	return CL_SUCCESS;
}

static uint64_t info_row(const void *object)
{
	return ((const struct _cl_mem *)object)->row_bytes;
}

static uint64_t info_slice(const void *object)
{
	const struct _cl_mem *mem = object;
	bool has_slices = mem->type == CL_MEM_OBJECT_IMAGE3D ||
			  mem->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ||
			  mem->type == CL_MEM_OBJECT_IMAGE2D_ARRAY;

	return has_slices ? mem->slice_bytes : 0;
}

/* clang-format off */
static const struct dcl_info image_info[] = {
	DCL_F(CL_IMAGE_FORMAT, struct _cl_mem, format),
	DCL_F(CL_IMAGE_ELEMENT_SIZE, struct _cl_mem, element_bytes),
	DCL_U(CL_IMAGE_ROW_PITCH, size_t, info_row),
	DCL_U(CL_IMAGE_SLICE_PITCH, size_t, info_slice),
	DCL_F(CL_IMAGE_WIDTH, struct _cl_mem, desc.image_width),
	DCL_F(CL_IMAGE_HEIGHT, struct _cl_mem, desc.image_height),
	DCL_F(CL_IMAGE_DEPTH, struct _cl_mem, desc.image_depth),
	DCL_F(CL_IMAGE_ARRAY_SIZE, struct _cl_mem, desc.image_array_size),
	DCL_F(CL_IMAGE_BUFFER, struct _cl_mem, parent),
	DCL_C(CL_IMAGE_NUM_MIP_LEVELS, cl_uint, 0),
	DCL_C(CL_IMAGE_NUM_SAMPLES, cl_uint, 0),
};
/* clang-format on */

cl_int CL_API_CALL dcl_clGetImageInfo(
	cl_mem mem, cl_image_info param, size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!dcl_is(mem, DCL_MEM) || !mem->element_bytes)
		return CL_INVALID_MEM_OBJECT;
	return dcl_info_get(
		image_info, DCL_ROWS(image_info), mem, param, bytes, ret, ret_bytes);
}
