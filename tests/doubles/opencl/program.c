/* SPDX-License-Identifier: Apache-2.0 */
#include "alive.h"
#include "callback.h"
#include "entries.h"
#include "info.h"
#include "object.h"
#include "source.h"
#include <stdlib.h>
#include <string.h>

/* Programs. There is no compiler: every text builds, and a "binary" is the text behind a
 * mark. The name of a kernel alone decides its behaviour. */

#define BINARY_MARK "cleave double binary\n"

static const char builtin_text[] = "kernel void nop(void){} kernel void spin(uint us){}";

static cl_program program_new(cl_context context, const char *bytes, size_t n, cl_int *rc)
{
	cl_program program = dcl_object_new(DCL_PROGRAM);

	if (!program)
		return dcl_fail(rc, CL_OUT_OF_HOST_MEMORY);
	dcl_object_pin(context);
	program->context = context;
	program->source = malloc(n + 1);
	if (!program->source) {
		dcl_object_release(program, DCL_PROGRAM);
		return dcl_fail(rc, CL_OUT_OF_HOST_MEMORY);
	}
	if (n)
		memcpy(program->source, bytes, n);
	program->source[n] = '\0';
	program->source_bytes = n;
	dcl_set_error(rc, CL_SUCCESS);
	return program;
}

cl_program CL_API_CALL dcl_clCreateProgramWithSource(cl_context context, cl_uint n,
	const char **strings, const size_t *lengths, cl_int *errcode_ret)
{
	cl_program program;
	size_t bytes = 0, at = 0;
	char *text;

	if (!dcl_is(context, DCL_CONTEXT))
		return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
	if (n == 0 || !strings)
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	for (cl_uint i = 0; i < n; i++) {
		if (!strings[i])
			return dcl_fail(errcode_ret, CL_INVALID_VALUE);
		bytes += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
	}
	text = malloc(bytes + 1);
	if (!text)
		return dcl_fail(errcode_ret, CL_OUT_OF_HOST_MEMORY);
	for (cl_uint i = 0; i < n; i++) {
		size_t length = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);

		memcpy(text + at, strings[i], length);
		at += length;
	}
	program = program_new(context, text, bytes, errcode_ret);
	free(text);
	return program;
}

cl_program CL_API_CALL dcl_clCreateProgramWithBinary(cl_context context, cl_uint n,
	const cl_device_id *devices, const size_t *lengths,
	const unsigned char **binaries, cl_int *status, cl_int *errcode_ret)
{
	const size_t mark = strlen(BINARY_MARK);

	if (!dcl_is(context, DCL_CONTEXT))
		return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
	if (n == 0 || !devices || !lengths || !binaries)
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	for (cl_uint i = 0; i < n; i++) {
		bool ok;

		if (!dcl_is(devices[i], DCL_DEVICE))
			return dcl_fail(errcode_ret, CL_INVALID_DEVICE);
		if (!binaries[i] || lengths[i] == 0) {
			if (status)
				status[i] = CL_INVALID_VALUE;
			return dcl_fail(errcode_ret, CL_INVALID_VALUE);
		}
		ok = lengths[i] >= mark && memcmp(binaries[i], BINARY_MARK, mark) == 0;
		if (status)
			status[i] = ok ? CL_SUCCESS : CL_INVALID_BINARY;
		if (!ok)
			return dcl_fail(errcode_ret, CL_INVALID_BINARY);
	}
	return program_new(context, (const char *)binaries[0] + mark, lengths[0] - mark,
		errcode_ret);
}

cl_program CL_API_CALL dcl_clCreateProgramWithIL(
	cl_context context, const void *il, size_t length, cl_int *errcode_ret)
{
	cl_program program;

	if (!dcl_is(context, DCL_CONTEXT))
		return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
	if (!il || length == 0)
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	program = program_new(context, il, length, errcode_ret);
	if (program)
		program->is_il = true;
	return program;
}

cl_program CL_API_CALL dcl_clCreateProgramWithILKHR(
	cl_context context, const void *il, size_t length, cl_int *errcode_ret)
{
	return dcl_clCreateProgramWithIL(context, il, length, errcode_ret);
}

cl_program CL_API_CALL dcl_clCreateProgramWithBuiltInKernels(cl_context context,
	cl_uint n, const cl_device_id *devices, const char *names, cl_int *errcode_ret)
{
	cl_program program;

	if (!dcl_is(context, DCL_CONTEXT))
		return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
	if (n == 0 || !devices || !names)
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	if (strcmp(names, "nop") != 0 && strcmp(names, "spin") != 0 &&
		strcmp(names, "nop;spin") != 0 && strcmp(names, "spin;nop") != 0)
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	program = program_new(context, builtin_text, strlen(builtin_text), errcode_ret);
	if (program) {
		program->is_builtin = program->built = true;
		program->kernel_names = strdup(names);
		program->n_kernels = strchr(names, ';') ? 2 : 1;
	}
	return program;
}

typedef void(CL_CALLBACK *program_notify)(cl_program, void *);

static void run_notify(struct dcl_callback *cb)
{
	program_notify fn = (program_notify)cb->function;
	cl_program program = cb->object;

	fn(program, cb->user);
	free(cb);
	dcl_object_unpin(program);
}

static cl_int notify_later(cl_program program, program_notify fn, void *user)
{
	struct dcl_callback *cb;

	if (!fn)
		return CL_SUCCESS;
	cb = dcl_callback_new(run_notify, program, (void *)fn, user);
	if (!cb)
		return CL_OUT_OF_HOST_MEMORY;
	dcl_object_pin(program);
	dcl_callback_post(cb);
	return CL_SUCCESS;
}

static cl_int build(cl_program program, const char *options, bool link)
{
	if (!program->kernel_names && !program->is_il)
		program->kernel_names =
			dcl_source_kernels(program->source, &program->n_kernels);
	free(program->options);
	program->options = strdup(options ? options : "");
	program->compiled = true;
	program->built = link;
	return CL_SUCCESS;
}

static cl_int check_build(cl_program program, cl_uint n, const cl_device_id *devices,
	program_notify notify, const void *user)
{
	if (!dcl_is(program, DCL_PROGRAM))
		return CL_INVALID_PROGRAM;
	if ((n == 0) != (devices == NULL) || (!notify && user))
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < n; i++)
		if (!dcl_is(devices[i], DCL_DEVICE))
			return CL_INVALID_DEVICE;
	if (atomic_load(&program->live_kernels) > 0)
		return CL_INVALID_OPERATION;
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clBuildProgram(cl_program program, cl_uint n,
	const cl_device_id *devices, const char *options, program_notify notify,
	void *user)
{
	cl_int rc = check_build(program, n, devices, notify, user);

	if (rc)
		return rc;
	build(program, options, true);
	return notify_later(program, notify, user);
}

cl_int CL_API_CALL dcl_clCompileProgram(cl_program program, cl_uint n,
	const cl_device_id *devices, const char *options, cl_uint n_headers,
	const cl_program *headers, const char **names, program_notify notify, void *user)
{
	cl_int rc = check_build(program, n, devices, notify, user);

	if (rc)
		return rc;
	if ((n_headers == 0) != (headers == NULL) || (n_headers == 0) != (names == NULL))
		return CL_INVALID_VALUE;
	build(program, options, false);
	return notify_later(program, notify, user);
}

cl_program CL_API_CALL dcl_clLinkProgram(cl_context context, cl_uint n,
	const cl_device_id *devices, const char *options, cl_uint n_inputs,
	const cl_program *inputs, program_notify notify, void *user, cl_int *errcode_ret)
{
	cl_program program;
	size_t bytes = 0;
	char *text;

	if (!dcl_is(context, DCL_CONTEXT))
		return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
	if (n_inputs == 0 || !inputs || (n == 0) != (devices == NULL))
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	for (cl_uint i = 0; i < n_inputs; i++) {
		if (!dcl_is(inputs[i], DCL_PROGRAM))
			return dcl_fail(errcode_ret, CL_INVALID_PROGRAM);
		if (!inputs[i]->compiled)
			return dcl_fail(errcode_ret, CL_INVALID_OPERATION);
		bytes += inputs[i]->source_bytes;
	}
	text = malloc(bytes + 1);
	if (!text)
		return dcl_fail(errcode_ret, CL_OUT_OF_HOST_MEMORY);
	bytes = 0;
	for (cl_uint i = 0; i < n_inputs; i++) {
		memcpy(text + bytes, inputs[i]->source, inputs[i]->source_bytes);
		bytes += inputs[i]->source_bytes;
	}
	program = program_new(context, text, bytes, errcode_ret);
	free(text);
	if (!program)
		return NULL;
	build(program, options, true);
	dcl_set_error(errcode_ret, notify_later(program, notify, user));
	return program;
}

cl_int CL_API_CALL dcl_clUnloadCompiler(void)
{
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clUnloadPlatformCompiler(cl_platform_id platform)
{
	return platform == &dcl_platform ? CL_SUCCESS : CL_INVALID_PLATFORM;
}

cl_int CL_API_CALL dcl_clSetProgramReleaseCallback(
	cl_program program, program_notify notify, void *user)
{
	return dcl_is(program, DCL_PROGRAM) ? CL_INVALID_OPERATION : CL_INVALID_PROGRAM;
}

cl_int CL_API_CALL dcl_clSetProgramSpecializationConstant(
	cl_program program, cl_uint id, size_t bytes, const void *value)
{
	if (!dcl_is(program, DCL_PROGRAM) || !program->is_il)
		return CL_INVALID_PROGRAM;
	return value ? CL_SUCCESS : CL_INVALID_VALUE;
}

void dcl_program_destroy(void *object)
{
	cl_program program = object;

	free(program->source);
	free(program->options);
	free(program->kernel_names);
	dcl_object_unpin(program->context);
	dcl_object_recycle(program);
}

cl_int CL_API_CALL dcl_clRetainProgram(cl_program program)
{
	return dcl_object_retain(program, DCL_PROGRAM);
}

cl_int CL_API_CALL dcl_clReleaseProgram(cl_program program)
{
	return dcl_object_release(program, DCL_PROGRAM);
}

static const void *program_devices(const void *object, size_t *bytes, void *scratch)
{
	const struct _cl_program *program = object;

	*bytes = program->context->n_devices * sizeof(cl_device_id);
	return program->context->devices;
}

static const void *program_text(const void *object, size_t *bytes, void *scratch)
{
	const struct _cl_program *program = object;
	const char *text = program->is_il || program->is_builtin ? "" : program->source;

	*bytes = strlen(text) + 1;
	return text;
}

static const void *program_il(const void *object, size_t *bytes, void *scratch)
{
	const struct _cl_program *program = object;

	*bytes = program->is_il ? program->source_bytes : 0;
	return program->source;
}

static const void *program_names(const void *object, size_t *bytes, void *scratch)
{
	const struct _cl_program *program = object;
	const char *names = program->kernel_names ? program->kernel_names : "";

	*bytes = strlen(names) + 1;
	return names;
}

static uint64_t program_n_kernels(const void *object)
{
	return ((const struct _cl_program *)object)->n_kernels;
}

static uint64_t program_n_devices(const void *object)
{
	return ((const struct _cl_program *)object)->context->n_devices;
}

/* clang-format off */
static const struct dcl_info program_info[] = {
	DCL_REFS(CL_PROGRAM_REFERENCE_COUNT),
	DCL_F(CL_PROGRAM_CONTEXT, struct _cl_program, context),
	DCL_U(CL_PROGRAM_NUM_DEVICES, cl_uint, program_n_devices),
	DCL_M(CL_PROGRAM_DEVICES, program_devices),
	DCL_M(CL_PROGRAM_SOURCE, program_text),
	DCL_M(CL_PROGRAM_IL, program_il),
	DCL_U(CL_PROGRAM_NUM_KERNELS, size_t, program_n_kernels),
	DCL_M(CL_PROGRAM_KERNEL_NAMES, program_names),
	DCL_C(CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT, cl_bool, CL_FALSE),
	DCL_C(CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT, cl_bool, CL_FALSE),
};
/* clang-format on */

static cl_int binaries(
	cl_program program, size_t bytes, unsigned char **ret, size_t *ret_bytes)
{
	size_t mark = strlen(BINARY_MARK), n = program->context->n_devices;

	if (ret && bytes < n * sizeof(*ret))
		return CL_INVALID_VALUE;
	for (size_t i = 0; ret && i < n; i++) {
		if (!ret[i])
			continue;
		memcpy(ret[i], BINARY_MARK, mark);
		memcpy(ret[i] + mark, program->source, program->source_bytes);
	}
	if (ret_bytes)
		*ret_bytes = n * sizeof(*ret);
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clGetProgramInfo(cl_program program, cl_program_info param,
	size_t bytes, void *ret, size_t *ret_bytes)
{
	size_t sizes[16];

	if (!dcl_is(program, DCL_PROGRAM))
		return CL_INVALID_PROGRAM;
	if ((param == CL_PROGRAM_NUM_KERNELS || param == CL_PROGRAM_KERNEL_NAMES) &&
		!program->built)
		return CL_INVALID_PROGRAM_EXECUTABLE;
	if (param == CL_PROGRAM_BINARIES)
		return binaries(program, bytes, ret, ret_bytes);
	if (param == CL_PROGRAM_BINARY_SIZES) {
		size_t n = program->context->n_devices;

		for (size_t i = 0; i < n && i < DCL_ROWS(sizes); i++)
			sizes[i] = program->compiled || program->is_builtin
					   ? strlen(BINARY_MARK) + program->source_bytes
					   : 0;
		return dcl_info_reply(sizes, n * sizeof(sizes[0]), bytes, ret, ret_bytes);
	}
	return dcl_info_get(program_info, DCL_ROWS(program_info), program, param, bytes,
		ret, ret_bytes);
}

static uint64_t build_status(const void *object)
{
	const struct _cl_program *program = object;

	return (uint32_t)(program->compiled || program->built ? CL_BUILD_SUCCESS
							      : CL_BUILD_NONE);
}

static uint64_t binary_type(const void *object)
{
	const struct _cl_program *program = object;

	if (program->built)
		return CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
	return program->compiled ? CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT
				 : CL_PROGRAM_BINARY_TYPE_NONE;
}

static const void *build_options(const void *object, size_t *bytes, void *scratch)
{
	const struct _cl_program *program = object;
	const char *options = program->options ? program->options : "";

	*bytes = strlen(options) + 1;
	return options;
}

/* clang-format off */
static const struct dcl_info build_info[] = {
	DCL_U(CL_PROGRAM_BUILD_STATUS, cl_build_status, build_status),
	DCL_U(CL_PROGRAM_BINARY_TYPE, cl_program_binary_type, binary_type),
	DCL_M(CL_PROGRAM_BUILD_OPTIONS, build_options),
	DCL_T(CL_PROGRAM_BUILD_LOG, ""),
	DCL_C(CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, size_t, 0),
};
/* clang-format on */

cl_int CL_API_CALL dcl_clGetProgramBuildInfo(cl_program program, cl_device_id device,
	cl_program_build_info param, size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!dcl_is(program, DCL_PROGRAM))
		return CL_INVALID_PROGRAM;
	if (!dcl_is(device, DCL_DEVICE))
		return CL_INVALID_DEVICE;
	return dcl_info_get(
		build_info, DCL_ROWS(build_info), program, param, bytes, ret, ret_bytes);
}
