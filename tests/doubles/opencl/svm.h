/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* Memory that the API hands out as plain pointers: SVM and Intel's USM. */
struct dcl_svm {
	struct dcl_svm *next;
	cl_context context;
	cl_device_id device;
	void *pointer;
	size_t bytes;
	cl_uint usm_type; /* 0 for SVM, else CL_MEM_TYPE_..._INTEL */
	cl_ulong flags;
	bool charged;
};

/* NULL and *rc on failure.  `charge` is false for host memory. */
void *dcl_svm_new(const struct dcl_svm *want, size_t alignment, cl_int *rc);

/* Frees by the start address; false if it is not one of this context's. */
bool dcl_svm_release(cl_context context, void *pointer);

/* Finds the allocation that contains a pointer. */
bool dcl_svm_find(const void *pointer, struct dcl_svm *ret);

/* Zeroed pages or a small aligned piece, not touched before its first use. */
void *dcl_bytes_new(size_t bytes, size_t alignment);
void dcl_bytes_free(void *pointer, size_t bytes);
