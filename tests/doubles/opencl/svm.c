/* SPDX-License-Identifier: Apache-2.0 */
#include "svm.h"
#include "alive.h"
#include "cmd.h"
#include "device.h"
#include "engine.h"
#include "entries.h"
#include "info.h"
#include "knobs.h"
#include "ledger.h"
#include "object.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Allocations that are plain pointers: clSVMAlloc and Intel's unified shared memory. All
 * but host memory are charged. A free of an unknown pointer ends the process: the API has
 * no way to report it and a real runtime would corrupt itself. */

/* From this size on mmap provides the pages, which are allocated when they are
 * touched. */
#define MAP_FROM_BYTES ((size_t)1 << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dcl_svm *all;

void *dcl_bytes_new(size_t bytes, size_t alignment)
{
	void *p;

	if (bytes >= MAP_FROM_BYTES) {
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		return p == MAP_FAILED ? NULL : p;
	}
	if (alignment < DCL_MEM_ALIGN_BYTES)
		alignment = DCL_MEM_ALIGN_BYTES;
	return aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
}

void dcl_bytes_free(void *pointer, size_t bytes)
{
	if (bytes >= MAP_FROM_BYTES)
		munmap(pointer, bytes);
	else
		free(pointer);
}

static bool charge(const struct dcl_svm *svm)
{
	if (!svm->charged)
		return true;
	if (svm->device)
		return dcl_ledger_charge(svm->device->engine->ledger, svm->bytes);
	return dcl_ledger_charge_context(svm->context, svm->bytes);
}

static void refund(const struct dcl_svm *svm)
{
	if (!svm->charged)
		return;
	if (svm->device)
		dcl_ledger_refund(svm->device->engine->ledger, svm->bytes);
	else
		dcl_ledger_refund_context(svm->context, svm->bytes);
}

void *dcl_svm_new(const struct dcl_svm *want, size_t alignment, cl_int *rc)
{
	cl_int code = dcl_alive() ? dcl_fail_alloc() : CL_OUT_OF_RESOURCES;
	struct dcl_svm *svm;

	if (code)
		return dcl_fail(rc, code);
	svm = malloc(sizeof(*svm));
	if (!svm)
		return dcl_fail(rc, CL_OUT_OF_HOST_MEMORY);
	*svm = *want;
	if (!charge(svm)) {
		free(svm);
		return dcl_fail(rc, CL_MEM_OBJECT_ALLOCATION_FAILURE);
	}
	svm->pointer = dcl_bytes_new(svm->bytes, alignment);
	if (!svm->pointer) {
		refund(svm);
		free(svm);
		return dcl_fail(rc, CL_OUT_OF_HOST_MEMORY);
	}
	dcl_object_pin(svm->context);
	if (svm->device)
		dcl_object_pin(svm->device);
	pthread_mutex_lock(&lock);
	svm->next = all;
	all = svm;
	pthread_mutex_unlock(&lock);
	dcl_set_error(rc, CL_SUCCESS);
	return svm->pointer;
}

bool dcl_svm_release(cl_context context, void *pointer)
{
	struct dcl_svm **at, *svm;

	pthread_mutex_lock(&lock);
	for (at = &all; (svm = *at); at = &svm->next)
		if (svm->pointer == pointer && svm->context == context)
			break;
	if (svm)
		*at = svm->next;
	pthread_mutex_unlock(&lock);
	if (!svm)
		return false;
	refund(svm);
	dcl_bytes_free(svm->pointer, svm->bytes);
	if (svm->device)
		dcl_object_unpin(svm->device);
	dcl_object_unpin(svm->context);
	free(svm);
	return true;
}

bool dcl_svm_find(const void *pointer, struct dcl_svm *ret)
{
	const char *p = pointer;
	bool found = false;

	pthread_mutex_lock(&lock);
	for (const struct dcl_svm *svm = all; svm && !found; svm = svm->next) {
		const char *start = svm->pointer;

		found = (uintptr_t)p >= (uintptr_t)start &&
			(size_t)(p - start) < svm->bytes;
		if (found && ret)
			*ret = *svm;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static bool is_power_of_two(size_t n)
{
	return (n & (n - 1)) == 0;
}

void *CL_API_CALL dcl_clSVMAlloc(
	cl_context context, cl_svm_mem_flags flags, size_t bytes, cl_uint alignment)
{
	const cl_svm_mem_flags known = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY |
				       CL_MEM_READ_ONLY | CL_MEM_SVM_FINE_GRAIN_BUFFER;
	struct dcl_svm want = {
		.context = context, .bytes = bytes, .flags = flags, .charged = true};

	if (!dcl_is(context, DCL_CONTEXT) || (flags & ~known) || bytes == 0 ||
		bytes > context->devices[0]->max_alloc_bytes ||
		!is_power_of_two(alignment) || alignment > DCL_MEM_ALIGN_BYTES)
		return NULL;
	return dcl_svm_new(&want, alignment, NULL);
}

void CL_API_CALL dcl_clSVMFree(cl_context context, void *pointer)
{
	if (!pointer || !dcl_is(context, DCL_CONTEXT) ||
		dcl_svm_release(context, pointer))
		return;
	fprintf(stderr, "cleave-double-opencl: clSVMFree of %p, which is not allocated\n",
		pointer);
	abort();
}

static cl_int read_usm_properties(const cl_mem_properties_intel *list, cl_ulong *flags)
{
	for (; list && list[0]; list += 2) {
		if (list[0] != CL_MEM_ALLOC_FLAGS_INTEL)
			return CL_INVALID_PROPERTY;
		if (list[1] & ~(cl_mem_properties_intel)7)
			return CL_INVALID_PROPERTY;
		*flags = list[1];
	}
	return CL_SUCCESS;
}

static void *usm_alloc(struct dcl_svm *want, const cl_mem_properties_intel *list,
	cl_uint alignment, cl_int *errcode_ret)
{
	void *pointer;
	cl_int rc;

	if (!dcl_is(want->context, DCL_CONTEXT))
		return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
	if (want->device && !dcl_is(want->device, DCL_DEVICE))
		return dcl_fail(errcode_ret, CL_INVALID_DEVICE);
	rc = read_usm_properties(list, &want->flags);
	if (rc)
		return dcl_fail(errcode_ret, rc);
	if (!is_power_of_two(alignment) || alignment > DCL_MEM_ALIGN_BYTES)
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	if (want->bytes == 0 || want->bytes > want->context->devices[0]->max_alloc_bytes)
		return dcl_fail(errcode_ret, CL_INVALID_BUFFER_SIZE);
	pointer = dcl_svm_new(want, alignment, &rc);
	/* The extension has its own error code for a full device. */
	dcl_set_error(errcode_ret,
		rc == CL_MEM_OBJECT_ALLOCATION_FAILURE ? CL_OUT_OF_RESOURCES : rc);
	return pointer;
}

void *CL_API_CALL dcl_clHostMemAllocINTEL(cl_context context,
	const cl_mem_properties_intel *list, size_t bytes, cl_uint alignment,
	cl_int *errcode_ret)
{
	struct dcl_svm want = {
		.context = context, .bytes = bytes, .usm_type = CL_MEM_TYPE_HOST_INTEL};

	return usm_alloc(&want, list, alignment, errcode_ret);
}

void *CL_API_CALL dcl_clDeviceMemAllocINTEL(cl_context context, cl_device_id device,
	const cl_mem_properties_intel *list, size_t bytes, cl_uint alignment,
	cl_int *errcode_ret)
{
	struct dcl_svm want = {
		.context = context,
		.device = device,
		.bytes = bytes,
		.usm_type = CL_MEM_TYPE_DEVICE_INTEL,
		.charged = true,
	};

	if (!device)
		return dcl_fail(errcode_ret, CL_INVALID_DEVICE);
	return usm_alloc(&want, list, alignment, errcode_ret);
}

void *CL_API_CALL dcl_clSharedMemAllocINTEL(cl_context context, cl_device_id device,
	const cl_mem_properties_intel *list, size_t bytes, cl_uint alignment,
	cl_int *errcode_ret)
{
	struct dcl_svm want = {
		.context = context,
		.device = device,
		.bytes = bytes,
		.usm_type = CL_MEM_TYPE_SHARED_INTEL,
		.charged = true,
	};

	return usm_alloc(&want, list, alignment, errcode_ret);
}

cl_int CL_API_CALL dcl_clMemFreeINTEL(cl_context context, void *pointer)
{
	if (!dcl_is(context, DCL_CONTEXT))
		return CL_INVALID_CONTEXT;
	if (!pointer || dcl_svm_release(context, pointer))
		return CL_SUCCESS;
	return CL_INVALID_VALUE;
}

cl_int CL_API_CALL dcl_clMemBlockingFreeINTEL(cl_context context, void *pointer)
{
	if (!dcl_is(context, DCL_CONTEXT))
		return CL_INVALID_CONTEXT;
	dcl_queues_finish_context(context);
	return dcl_clMemFreeINTEL(context, pointer);
}

/* clang-format off */
static const struct dcl_info usm_info[] = {
	DCL_F(CL_MEM_ALLOC_TYPE_INTEL, struct dcl_svm, usm_type),
	DCL_F(CL_MEM_ALLOC_BASE_PTR_INTEL, struct dcl_svm, pointer),
	DCL_F(CL_MEM_ALLOC_SIZE_INTEL, struct dcl_svm, bytes),
	DCL_F(CL_MEM_ALLOC_DEVICE_INTEL, struct dcl_svm, device),
	DCL_F(CL_MEM_ALLOC_FLAGS_INTEL, struct dcl_svm, flags),
};
/* clang-format on */

cl_int CL_API_CALL dcl_clGetMemAllocInfoINTEL(cl_context context, const void *pointer,
	cl_mem_info_intel param, size_t bytes, void *ret, size_t *ret_bytes)
{
	struct dcl_svm svm = {0};

	if (!dcl_is(context, DCL_CONTEXT))
		return CL_INVALID_CONTEXT;
	if (!dcl_svm_find(pointer, &svm) || !svm.usm_type)
		svm = (struct dcl_svm){.usm_type = CL_MEM_TYPE_UNKNOWN_INTEL};
	return dcl_info_get(
		usm_info, DCL_ROWS(usm_info), &svm, param, bytes, ret, ret_bytes);
}
