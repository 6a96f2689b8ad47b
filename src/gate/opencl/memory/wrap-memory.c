/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers, images and pipes.  They are charged before the driver's call with the size
 * that the program names; the charge of an image is then set to what the driver reports.
 * Buffers over host memory are charged as well, because a device with memory of its own
 * keeps a copy.  Sub-buffers and images over other objects have no memory of their own.
 */
#include "base/cleanup.h"
#include "gate/memory/charges.h"
#include "gate/memory/ledger.h"
#include "gate/opencl/device/devices.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/vendors.h"
#include "gate/opencl/dispatch/wrap.h"
#include "gate/opencl/memory/objects.h"

static cl_mem refuse(cl_int code, cl_int *error)
{
	*error = code;
	return NULL;
}

/* The error for an object over the quota.  OpenCL has an error of its own for a buffer
 * that is larger than CL_DEVICE_MAX_MEM_ALLOC_SIZE, which the gate shows to be at most
 * the quota. */
static cl_int error_of_refused(uint64_t n_bytes, cl_int too_large)
{
	return n_bytes > clv_ledger_quota_bytes() ? too_large
						  : CL_MEM_OBJECT_ALLOCATION_FAILURE;
}

/* Over quota.  For a size above the driver's own maximum the driver's error is the right
 * one, so the driver is called; if it succeeds nevertheless, the object is released at
 * once. */
static cl_mem drop(cl_mem object, cl_int *error)
{
	if (*error != CL_SUCCESS || !object)
		return NULL;
	clv_real.clReleaseMemObject(object);
	return refuse(CL_MEM_OBJECT_ALLOCATION_FAILURE, error);
}

/* Checks that the object calls the gate, before any call is made by it.  If it does not,
 * it is released. */
static cl_mem check_object(cl_mem object, cl_int *error)
{
	if (*error != CL_SUCCESS || !object || clv_vendor_is_gated(object))
		return object;
	clv_real.clReleaseMemObject(object);
	*error = CL_OUT_OF_RESOURCES;
	return NULL;
}

static cl_mem return_object(cl_mem object, cl_int error, cl_int *ret_error)
{
	if (ret_error)
		*ret_error = error;
	return object;
}

static cl_mem return_checked(cl_mem object, cl_int *error, cl_int *ret_error)
{
	object = *error == CL_SUCCESS ? check_object(object, error) : NULL;
	return return_object(object, *error, ret_error);
}

/* If there is an error, the driver's return value is no object.  too_large: the error for
 * a size above the quota. */
#define CHARGED(n_bytes, correct, too_large, context, call)                        \
	({                                                                         \
		struct clv_charge charge_ =                                        \
			clv_object_charge(clv_object_bytes(n_bytes));              \
		cl_int error = CL_SUCCESS;                                         \
		cl_mem object_;                                                    \
                                                                                   \
		if (!charge_.refused) {                                            \
			object_ = (call);                                          \
			object_ = check_object(object_, &error);                   \
			object_ = clv_charge_settle(&charge_,                      \
				error == CL_SUCCESS ? object_ : NULL, (correct),   \
				&error);                                           \
		} else if ((n_bytes) > clv_device_max_allocation_bytes(context)) { \
			object_ = (call);                                          \
			object_ = drop(object_, &error);                           \
		} else {                                                           \
			object_ = refuse(                                          \
				error_of_refused((n_bytes), (too_large)), &error); \
		}                                                                  \
		return_object(object_, error, ret_error);                          \
	})

static cl_mem CL_API_CALL wrap_clCreateBuffer(
	cl_context context, cl_mem_flags flags, size_t n, void *host, cl_int *ret_error)
{
	return CHARGED(n, false, CL_INVALID_BUFFER_SIZE, context,
		clv_real.clCreateBuffer(context, flags, n, host, &error));
}

static cl_mem CL_API_CALL wrap_clCreateBufferWithProperties(cl_context context,
	const cl_mem_properties *properties, cl_mem_flags flags, size_t n, void *host,
	cl_int *ret_error)
{
	return CHARGED(n, false, CL_INVALID_BUFFER_SIZE, context,
		clv_real.clCreateBufferWithProperties(
			context, properties, flags, n, host, &error));
}

static size_t channels_of(cl_channel_order order)
{
	static const struct {
		cl_channel_order order;
		size_t n_channels;
	} orders[] = {
		/* clang-format off */
		{ CL_R, 1 },    { CL_A, 1 },     { CL_INTENSITY, 1 }, { CL_LUMINANCE, 1 },
		{ CL_DEPTH, 1 }, { CL_RG, 2 },   { CL_RA, 2 },        { CL_Rx, 2 },
		{ CL_RGB, 3 },  { CL_RGx, 3 },   { CL_sRGB, 3 },      { CL_DEPTH_STENCIL, 2 },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(orders); i++) {
		if (orders[i].order == order)
			return orders[i].n_channels;
	}
	return 4;
}

static size_t element_bytes(const cl_image_format *format)
{
	size_t channels;

	if (!format)
		return 0;
	channels = channels_of(format->image_channel_order);
	switch (format->image_channel_data_type) {
	case CL_SNORM_INT8:
	case CL_UNORM_INT8:
	case CL_SIGNED_INT8:
	case CL_UNSIGNED_INT8:
		return channels;
	case CL_UNORM_SHORT_565:
	case CL_UNORM_SHORT_555:
		return 2;
	case CL_UNORM_INT_101010:
	case CL_UNORM_INT_101010_2:
		return 4;
	case CL_SIGNED_INT32:
	case CL_UNSIGNED_INT32:
	case CL_FLOAT:
		return 4 * channels;
	default:
		return 2 * channels;
	}
}

static uint64_t at_least_one(size_t n)
{
	return n > 0 ? n : 1;
}

static uint64_t image_bytes(const cl_image_format *format, const cl_image_desc *desc)
{
	cl_mem_object_type type;
	uint64_t n_bytes;

	if (!desc || desc->mem_object)
		return 0;
	/* Fields that the type does not use may have any value. */
	type = desc->image_type;
	n_bytes = element_bytes(format) * at_least_one(desc->image_width);
	if (type == CL_MEM_OBJECT_IMAGE2D || type == CL_MEM_OBJECT_IMAGE2D_ARRAY ||
		type == CL_MEM_OBJECT_IMAGE3D)
		n_bytes *= at_least_one(desc->image_height);
	if (type == CL_MEM_OBJECT_IMAGE3D)
		n_bytes *= at_least_one(desc->image_depth);
	if (type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY)
		n_bytes *= at_least_one(desc->image_array_size);
	return n_bytes;
}

static bool has_own_memory(const cl_image_desc *desc)
{
	return desc && !desc->mem_object;
}

static cl_mem CL_API_CALL wrap_clCreateImage(cl_context context, cl_mem_flags flags,
	const cl_image_format *format, const cl_image_desc *desc, void *host,
	cl_int *ret_error)
{
	cl_int r = CL_SUCCESS;

	if (!has_own_memory(desc))
		return return_checked(
			clv_real.clCreateImage(context, flags, format, desc, host, &r),
			&r, ret_error);
	return CHARGED(image_bytes(format, desc), true, CL_MEM_OBJECT_ALLOCATION_FAILURE,
		context,
		clv_real.clCreateImage(context, flags, format, desc, host, &error));
}

static cl_mem CL_API_CALL wrap_clCreateImageWithProperties(cl_context context,
	const cl_mem_properties *properties, cl_mem_flags flags,
	const cl_image_format *format, const cl_image_desc *desc, void *host,
	cl_int *ret_error)
{
	cl_int r = CL_SUCCESS;

	if (!has_own_memory(desc))
		return return_checked(clv_real.clCreateImageWithProperties(context,
					      properties, flags, format, desc, host, &r),
			&r, ret_error);
	return CHARGED(image_bytes(format, desc), true, CL_MEM_OBJECT_ALLOCATION_FAILURE,
		context,
		clv_real.clCreateImageWithProperties(
			context, properties, flags, format, desc, host, &error));
}

static cl_mem CL_API_CALL wrap_clCreateImage2D(cl_context context, cl_mem_flags flags,
	const cl_image_format *format, size_t width, size_t height, size_t row,
	void *host, cl_int *ret_error)
{
	return CHARGED(element_bytes(format) * width * height, true,
		CL_MEM_OBJECT_ALLOCATION_FAILURE, context,
		clv_real.clCreateImage2D(
			context, flags, format, width, height, row, host, &error));
}

static cl_mem CL_API_CALL wrap_clCreateImage3D(cl_context context, cl_mem_flags flags,
	const cl_image_format *format, size_t width, size_t height, size_t depth,
	size_t row, size_t slice, void *host, cl_int *ret_error)
{
	return CHARGED(element_bytes(format) * width * height * depth, true,
		CL_MEM_OBJECT_ALLOCATION_FAILURE, context,
		clv_real.clCreateImage3D(context, flags, format, width, height, depth,
			row, slice, host, &error));
}

static cl_mem CL_API_CALL wrap_clCreatePipe(cl_context context, cl_mem_flags flags,
	cl_uint packet_bytes, cl_uint n_packets, const cl_pipe_properties *properties,
	cl_int *ret_error)
{
	return CHARGED((uint64_t)packet_bytes * n_packets, false,
		CL_MEM_OBJECT_ALLOCATION_FAILURE, context,
		clv_real.clCreatePipe(
			context, flags, packet_bytes, n_packets, properties, &error));
}

static cl_int CL_API_CALL wrap_clReleaseMemObject(cl_mem object)
{
	return clv_object_release(object);
}

#define WRAP(function) table->function = wrap_##function

void clv_opencl_wrap_memory(cl_icd_dispatch *table)
{
	WRAP(clCreateBuffer);
	WRAP(clCreateBufferWithProperties);
	WRAP(clCreateImage);
	WRAP(clCreateImageWithProperties);
	WRAP(clCreateImage2D);
	WRAP(clCreateImage3D);
	WRAP(clCreatePipe);
	WRAP(clReleaseMemObject);
}
