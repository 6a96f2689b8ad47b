/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* The parameters of a new memory object; filled by the API function that creates it. */
struct dcl_mem_want {
	cl_context context;
	cl_mem_object_type type;
	cl_mem_flags flags;
	size_t bytes;
	void *host_ptr;
	cl_mem parent; /* shares the parent's bytes from origin_bytes on; not charged */
	size_t origin_bytes;
	const cl_mem_properties *props;
};

/* A memory object with its memory charged; NULL and *rc on failure. The caller
 * initializes the bytes. */
cl_mem dcl_mem_new(const struct dcl_mem_want *want, cl_int *rc);

cl_int dcl_mem_check_flags(cl_mem_flags flags, const void *host_ptr);

/* CL_SUCCESS if `mem` is a live object of this context. */
static inline cl_int dcl_mem_check(cl_mem mem, cl_context context)
{
	if (!dcl_is(mem, DCL_MEM))
		return CL_INVALID_MEM_OBJECT;
	return mem->context == context ? CL_SUCCESS : CL_INVALID_CONTEXT;
}

/* The same, and it is a buffer (or is not). */
static inline cl_int dcl_buffer_check(cl_mem mem, cl_context context)
{
	cl_int rc = dcl_mem_check(mem, context);

	return rc                                  ? rc
	       : mem->type == CL_MEM_OBJECT_BUFFER ? CL_SUCCESS
						   : CL_INVALID_MEM_OBJECT;
}

cl_int dcl_image_check(cl_mem mem, cl_context context);

/* An image's size in pixels, rows (or layers of 1D), slices (or layers of 2D). */
void dcl_image_dims(cl_mem image, size_t dims[3]);

/* The stride between rows: for an array of 1D images that is the slice pitch. */
size_t dcl_image_row_stride(cl_mem image);

/* Records a mapped pointer; unmap removes it, and returns false if it is unknown. */
bool dcl_mem_map_add(cl_mem mem, void *pointer);
bool dcl_mem_map_remove(cl_mem mem, void *pointer);
