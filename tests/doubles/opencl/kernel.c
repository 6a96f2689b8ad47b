/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"
#include "device.h"
#include "entries.h"
#include "info.h"
#include "knobs.h"
#include "object.h"
#include "source.h"
#include "svm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kernels and their arguments. `spin` runs for as many microseconds as argument 0 says,
 * `nop` for none, any other for CLEAVE_DOUBLE_KERNEL_US. As in the specification, a
 * kernel does not retain its arguments: a memory object that was released in between is
 * detected at the enqueue. */

cl_kernel CL_API_CALL dcl_clCreateKernel(
	cl_program program, const char *name, cl_int *errcode_ret)
{
	cl_kernel kernel;

	if (!dcl_is(program, DCL_PROGRAM))
		return dcl_fail(errcode_ret, CL_INVALID_PROGRAM);
	if (!program->built)
		return dcl_fail(errcode_ret, CL_INVALID_PROGRAM_EXECUTABLE);
	if (!name)
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	if (!*name || strlen(name) >= DCL_SIZE_OF(struct _cl_kernel, name))
		return dcl_fail(errcode_ret, CL_INVALID_KERNEL_NAME);
	kernel = dcl_object_new(DCL_KERNEL);
	if (!kernel)
		return dcl_fail(errcode_ret, CL_OUT_OF_HOST_MEMORY);
	dcl_object_pin(program);
	atomic_fetch_add(&program->live_kernels, 1);
	kernel->program = program;
	snprintf(kernel->name, sizeof(kernel->name), "%s", name);
	kernel->is_spin = strcmp(name, "spin") == 0;
	if (!kernel->is_spin && strcmp(name, "nop") != 0)
		kernel->kernel_ns = dcl_knobs.kernel_ns;
	if (!program->is_il)
		dcl_source_args(program->source, kernel);
	if (kernel->is_spin && !kernel->args_known)
		kernel->n_unset = 1;
	dcl_set_error(errcode_ret, CL_SUCCESS);
	return kernel;
}

cl_int CL_API_CALL dcl_clCreateKernelsInProgram(
	cl_program program, cl_uint n, cl_kernel *ret, cl_uint *ret_n)
{
	const char *at;
	char name[64];
	cl_int rc = CL_SUCCESS;

	if (!dcl_is(program, DCL_PROGRAM))
		return CL_INVALID_PROGRAM;
	if (!program->built)
		return CL_INVALID_PROGRAM_EXECUTABLE;
	if (ret && n < program->n_kernels)
		return CL_INVALID_VALUE;
	if (ret_n)
		*ret_n = program->n_kernels;
	at = program->kernel_names;
	for (cl_uint i = 0; ret && i < program->n_kernels; i++) {
		size_t length = strcspn(at, ";");

		snprintf(name, sizeof(name), "%.*s", (int)length, at);
		ret[i] = dcl_clCreateKernel(program, name, &rc);
		if (!ret[i])
			return rc;
		at += length + (at[length] == ';');
	}
	return CL_SUCCESS;
}

cl_kernel CL_API_CALL dcl_clCloneKernel(cl_kernel kernel, cl_int *errcode_ret)
{
	cl_kernel copy;

	if (!dcl_is(kernel, DCL_KERNEL))
		return dcl_fail(errcode_ret, CL_INVALID_KERNEL);
	copy = dcl_clCreateKernel(kernel->program, kernel->name, errcode_ret);
	if (copy)
		memcpy((char *)copy + sizeof(copy->obj),
			(const char *)kernel + sizeof(kernel->obj),
			sizeof(*kernel) - sizeof(kernel->obj));
	return copy;
}

void dcl_kernel_destroy(void *object)
{
	cl_kernel kernel = object;
	cl_program program = kernel->program;

	atomic_fetch_sub(&program->live_kernels, 1);
	dcl_object_recycle(kernel);
	dcl_object_unpin(program);
}

cl_int CL_API_CALL dcl_clRetainKernel(cl_kernel kernel)
{
	return dcl_object_retain(kernel, DCL_KERNEL);
}

cl_int CL_API_CALL dcl_clReleaseKernel(cl_kernel kernel)
{
	return dcl_object_release(kernel, DCL_KERNEL);
}

static void mark_set(cl_kernel kernel, cl_uint index, cl_mem mem)
{
	struct dcl_arg *arg = &kernel->args[index];

	if (!arg->set && kernel->n_unset && (kernel->args_known || index == 0))
		kernel->n_unset--;
	if (arg->mem)
		kernel->n_mems--;
	arg->set = true;
	arg->mem = mem;
	arg->mem_serial = mem ? mem->obj.serial : 0;
	if (mem)
		kernel->n_mems++;
	if (!kernel->args_known && index >= kernel->n_args)
		kernel->n_args = index + 1;
}

/* Reads the memory object of the value, if it is one. */
static cl_int read_mem(
	const struct dcl_arg *arg, size_t bytes, const void *value, cl_mem *ret)
{
	cl_mem mem = NULL;

	*ret = NULL;
	if (arg->kind == DCL_ARG_VALUE || !value || bytes != sizeof(mem)) {
		if (arg->kind == DCL_ARG_MEM && bytes != sizeof(mem))
			return CL_INVALID_ARG_SIZE;
		return CL_SUCCESS;
	}
	memcpy(&mem, value, sizeof(mem));
	if (!mem)
		return CL_SUCCESS;
	if (dcl_object_find(DCL_MEM, mem))
		*ret = mem;
	else if (arg->kind == DCL_ARG_MEM)
		return CL_INVALID_MEM_OBJECT;
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clSetKernelArg(
	cl_kernel kernel, cl_uint index, size_t bytes, const void *value)
{
	const struct dcl_arg *arg;
	cl_mem mem;
	cl_int rc;

	if (!dcl_is(kernel, DCL_KERNEL))
		return CL_INVALID_KERNEL;
	if (index >= (kernel->args_known ? kernel->n_args : DCL_MAX_ARGS))
		return CL_INVALID_ARG_INDEX;
	arg = &kernel->args[index];
	if (arg->kind == DCL_ARG_LOCAL ? value != NULL
				       : !value && arg->kind == DCL_ARG_VALUE)
		return CL_INVALID_ARG_VALUE;
	if (bytes == 0 || (arg->kind == DCL_ARG_LOCAL && bytes > DCL_LOCAL_BYTES))
		return CL_INVALID_ARG_SIZE;
	rc = read_mem(arg, bytes, value, &mem);
	if (rc)
		return rc;
	if (kernel->is_spin && index == 0) {
		uint64_t us = 0;

		if (!value)
			return CL_INVALID_ARG_VALUE;
		if (bytes != sizeof(cl_uint) && bytes != sizeof(cl_ulong))
			return CL_INVALID_ARG_SIZE;
		memcpy(&us, value, bytes);
		kernel->kernel_ns = us * 1000;
	}
	mark_set(kernel, index, mem);
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clSetKernelArgSVMPointer(
	cl_kernel kernel, cl_uint index, const void *pointer)
{
	if (!dcl_is(kernel, DCL_KERNEL))
		return CL_INVALID_KERNEL;
	if (index >= (kernel->args_known ? kernel->n_args : DCL_MAX_ARGS))
		return CL_INVALID_ARG_INDEX;
	if (pointer && !dcl_svm_find(pointer, NULL))
		return CL_INVALID_ARG_VALUE;
	mark_set(kernel, index, NULL);
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clSetKernelArgMemPointerINTEL(
	cl_kernel kernel, cl_uint index, const void *pointer)
{
	return dcl_clSetKernelArgSVMPointer(kernel, index, pointer);
}

cl_int CL_API_CALL dcl_clSetKernelExecInfo(
	cl_kernel kernel, cl_kernel_exec_info param, size_t bytes, const void *value)
{
	if (!dcl_is(kernel, DCL_KERNEL))
		return CL_INVALID_KERNEL;
	if (!value || bytes == 0)
		return CL_INVALID_VALUE;
	switch (param) {
	case CL_KERNEL_EXEC_INFO_SVM_PTRS:
	case CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL:
		return bytes % sizeof(void *) ? CL_INVALID_VALUE : CL_SUCCESS;
	case CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM:
		return *(const cl_bool *)value ? CL_INVALID_OPERATION : CL_SUCCESS;
	case CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL:
	case CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL:
	case CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL:
		return bytes == sizeof(cl_bool) ? CL_SUCCESS : CL_INVALID_VALUE;
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int dcl_kernel_check(cl_kernel kernel, cl_context context)
{
	cl_uint left;

	if (!dcl_is(kernel, DCL_KERNEL))
		return CL_INVALID_KERNEL;
	if (kernel->program->context != context)
		return CL_INVALID_CONTEXT;
	if (kernel->n_unset)
		return CL_INVALID_KERNEL_ARGS;
	left = kernel->n_mems;
	for (const struct dcl_arg *arg = kernel->args; left; arg++) {
		if (!arg->mem)
			continue;
		left--;
		if (!dcl_is(arg->mem, DCL_MEM) || arg->mem->obj.serial != arg->mem_serial)
			return CL_INVALID_MEM_OBJECT;
		if (arg->mem->context != context)
			return CL_INVALID_CONTEXT;
	}
	return CL_SUCCESS;
}

static const void *kernel_context(const void *object, size_t *bytes, void *scratch)
{
	const struct _cl_kernel *kernel = object;

	*bytes = sizeof(kernel->program->context);
	return &kernel->program->context;
}

/* clang-format off */
static const struct dcl_info kernel_info[] = {
	DCL_S(CL_KERNEL_FUNCTION_NAME, struct _cl_kernel, name),
	DCL_F(CL_KERNEL_NUM_ARGS, struct _cl_kernel, n_args),
	DCL_REFS(CL_KERNEL_REFERENCE_COUNT),
	DCL_M(CL_KERNEL_CONTEXT, kernel_context),
	DCL_F(CL_KERNEL_PROGRAM, struct _cl_kernel, program),
	DCL_T(CL_KERNEL_ATTRIBUTES, ""),
};
static const struct dcl_info work_group_info[] = {
	DCL_C(CL_KERNEL_WORK_GROUP_SIZE, size_t, 1024),
	{ .param = CL_KERNEL_COMPILE_WORK_GROUP_SIZE, .kind = DCL_INFO_CONST,
	  .bytes = 3 * sizeof(size_t), .data = (const size_t[3]){ 0 } },
	DCL_C(CL_KERNEL_LOCAL_MEM_SIZE, cl_ulong, 0),
	DCL_C(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, size_t, 32),
	DCL_C(CL_KERNEL_PRIVATE_MEM_SIZE, cl_ulong, 0),
};
/* clang-format on */

cl_int CL_API_CALL dcl_clGetKernelInfo(cl_kernel kernel, cl_kernel_info param,
	size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!dcl_is(kernel, DCL_KERNEL))
		return CL_INVALID_KERNEL;
	return dcl_info_get(
		kernel_info, DCL_ROWS(kernel_info), kernel, param, bytes, ret, ret_bytes);
}

cl_int CL_API_CALL dcl_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
	cl_kernel_work_group_info param, size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!dcl_is(kernel, DCL_KERNEL))
		return CL_INVALID_KERNEL;
	if (device ? !dcl_is(device, DCL_DEVICE)
		   : kernel->program->context->n_devices > 1)
		return CL_INVALID_DEVICE;
	return dcl_info_get(work_group_info, DCL_ROWS(work_group_info), kernel, param,
		bytes, ret, ret_bytes);
}

cl_int CL_API_CALL dcl_clGetKernelArgInfo(cl_kernel kernel, cl_uint index,
	cl_kernel_arg_info param, size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!dcl_is(kernel, DCL_KERNEL))
		return CL_INVALID_KERNEL;
	if (index >= kernel->n_args)
		return CL_INVALID_ARG_INDEX;
	return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
}

cl_int CL_API_CALL dcl_clGetKernelSubGroupInfo(cl_kernel kernel, cl_device_id device,
	cl_kernel_sub_group_info param, size_t in_bytes, const void *in, size_t bytes,
	void *ret, size_t *ret_bytes)
{
	return dcl_is(kernel, DCL_KERNEL) ? CL_INVALID_OPERATION : CL_INVALID_KERNEL;
}

cl_int CL_API_CALL dcl_clGetKernelSubGroupInfoKHR(cl_kernel kernel, cl_device_id device,
	cl_kernel_sub_group_info param, size_t in_bytes, const void *in, size_t bytes,
	void *ret, size_t *ret_bytes)
{
	return dcl_clGetKernelSubGroupInfo(
		kernel, device, param, in_bytes, in, bytes, ret, ret_bytes);
}
