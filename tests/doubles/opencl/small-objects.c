/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "entries.h"
#include "info.h"
#include "mem.h"
#include "object.h"
#include <string.h>

/* Samplers, pipes, and the calls for sharing with other APIs, which the double
 * refuses. */

static cl_int read_sampler(const cl_sampler_properties *list, cl_sampler s)
{
	size_t n = 0;

	s->normalized = CL_TRUE;
	s->addressing = CL_ADDRESS_CLAMP;
	s->filter = CL_FILTER_NEAREST;
	for (; list && list[n]; n += 2) {
		if (n + 3 > DCL_ROWS(s->props))
			return CL_INVALID_VALUE;
		switch (list[n]) {
		case CL_SAMPLER_NORMALIZED_COORDS:
			s->normalized = (cl_bool)list[n + 1];
			break;
		case CL_SAMPLER_ADDRESSING_MODE:
			s->addressing = (cl_addressing_mode)list[n + 1];
			break;
		case CL_SAMPLER_FILTER_MODE:
			s->filter = (cl_filter_mode)list[n + 1];
			break;
		default:
			return CL_INVALID_VALUE;
		}
		s->props[n] = list[n];
		s->props[n + 1] = list[n + 1];
	}
	if (s->addressing < CL_ADDRESS_NONE ||
		s->addressing > CL_ADDRESS_MIRRORED_REPEAT ||
		s->filter < CL_FILTER_NEAREST || s->filter > CL_FILTER_LINEAR)
		return CL_INVALID_VALUE;
	s->props_bytes = list ? (n + 1) * sizeof(*list) : 0;
	return CL_SUCCESS;
}

cl_sampler CL_API_CALL dcl_clCreateSamplerWithProperties(
	cl_context context, const cl_sampler_properties *list, cl_int *errcode_ret)
{
	struct _cl_sampler probe = {0};
	cl_sampler sampler;
	cl_int rc;

	if (!dcl_is(context, DCL_CONTEXT))
		return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
	rc = read_sampler(list, &probe);
	if (rc)
		return dcl_fail(errcode_ret, rc);
	sampler = dcl_object_new(DCL_SAMPLER);
	if (!sampler)
		return dcl_fail(errcode_ret, CL_OUT_OF_HOST_MEMORY);
	read_sampler(list, sampler);
	dcl_object_pin(context);
	sampler->context = context;
	dcl_set_error(errcode_ret, CL_SUCCESS);
	return sampler;
}

cl_sampler CL_API_CALL dcl_clCreateSampler(cl_context context, cl_bool normalized,
	cl_addressing_mode addressing, cl_filter_mode filter, cl_int *errcode_ret)
{
	cl_sampler_properties list[] = {CL_SAMPLER_NORMALIZED_COORDS, normalized,
		CL_SAMPLER_ADDRESSING_MODE, addressing, CL_SAMPLER_FILTER_MODE, filter,
		0};
	cl_sampler sampler =
		dcl_clCreateSamplerWithProperties(context, list, errcode_ret);

	if (sampler)
		sampler->props_bytes = 0;
	return sampler;
}

void dcl_sampler_destroy(void *object)
{
	cl_sampler sampler = object;
	cl_context context = sampler->context;

	dcl_object_recycle(sampler);
	dcl_object_unpin(context);
}

cl_int CL_API_CALL dcl_clRetainSampler(cl_sampler sampler)
{
	return dcl_object_retain(sampler, DCL_SAMPLER);
}

cl_int CL_API_CALL dcl_clReleaseSampler(cl_sampler sampler)
{
	return dcl_object_release(sampler, DCL_SAMPLER);
}

/* clang-format off */
static const struct dcl_info sampler_info[] = {
	DCL_REFS(CL_SAMPLER_REFERENCE_COUNT),
	DCL_F(CL_SAMPLER_CONTEXT, struct _cl_sampler, context),
	DCL_F(CL_SAMPLER_NORMALIZED_COORDS, struct _cl_sampler, normalized),
	DCL_F(CL_SAMPLER_ADDRESSING_MODE, struct _cl_sampler, addressing),
	DCL_F(CL_SAMPLER_FILTER_MODE, struct _cl_sampler, filter),
	DCL_A(CL_SAMPLER_PROPERTIES, struct _cl_sampler, props, props_bytes),
};
static const struct dcl_info pipe_info[] = {
	DCL_F(CL_PIPE_PACKET_SIZE, struct _cl_mem, packet_bytes),
	DCL_F(CL_PIPE_MAX_PACKETS, struct _cl_mem, max_packets),
	DCL_NONE(CL_PIPE_PROPERTIES),
};
/* clang-format on */

cl_int CL_API_CALL dcl_clGetSamplerInfo(cl_sampler sampler, cl_sampler_info param,
	size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!dcl_is(sampler, DCL_SAMPLER))
		return CL_INVALID_SAMPLER;
	return dcl_info_get(sampler_info, DCL_ROWS(sampler_info), sampler, param, bytes,
		ret, ret_bytes);
}

cl_mem CL_API_CALL dcl_clCreatePipe(cl_context context, cl_mem_flags flags,
	cl_uint packet_bytes, cl_uint max_packets, const cl_pipe_properties *props,
	cl_int *errcode_ret)
{
	const cl_mem_flags known = CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS;
	struct dcl_mem_want want = {
		.context = context,
		.type = CL_MEM_OBJECT_PIPE,
		.flags = flags ? flags : known,
		.bytes = (size_t)packet_bytes * max_packets,
	};
	cl_mem mem;

	if (!dcl_is(context, DCL_CONTEXT))
		return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
	if ((flags & ~known) || props)
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	if (packet_bytes == 0 || packet_bytes > DCL_PIPE_MAX_PACKET_BYTES ||
		max_packets == 0 || want.bytes > context->devices[0]->max_alloc_bytes)
		return dcl_fail(errcode_ret, CL_INVALID_PIPE_SIZE);
	mem = dcl_mem_new(&want, errcode_ret);
	if (mem) {
		mem->packet_bytes = packet_bytes;
		mem->max_packets = max_packets;
	}
	return mem;
}

cl_int CL_API_CALL dcl_clGetPipeInfo(
	cl_mem mem, cl_pipe_info param, size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!dcl_is(mem, DCL_MEM) || mem->type != CL_MEM_OBJECT_PIPE)
		return CL_INVALID_MEM_OBJECT;
	return dcl_info_get(
		pipe_info, DCL_ROWS(pipe_info), mem, param, bytes, ret, ret_bytes);
}

/* The double's contexts do not share with GL or EGL, which these errors say. */
cl_mem CL_API_CALL dcl_clCreateFromGLBuffer(
	cl_context context, cl_mem_flags flags, cl_GLuint object, cl_int *errcode_ret)
{
	return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
}

cl_mem CL_API_CALL dcl_clCreateFromGLTexture(cl_context context, cl_mem_flags flags,
	cl_GLenum target, cl_GLint level, cl_GLuint texture, cl_int *errcode_ret)
{
	return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
}

cl_mem CL_API_CALL dcl_clCreateFromGLTexture2D(cl_context context, cl_mem_flags flags,
	cl_GLenum target, cl_GLint level, cl_GLuint texture, cl_int *errcode_ret)
{
	return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
}

cl_mem CL_API_CALL dcl_clCreateFromGLTexture3D(cl_context context, cl_mem_flags flags,
	cl_GLenum target, cl_GLint level, cl_GLuint texture, cl_int *errcode_ret)
{
	return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
}

cl_mem CL_API_CALL dcl_clCreateFromGLRenderbuffer(
	cl_context context, cl_mem_flags flags, cl_GLuint object, cl_int *errcode_ret)
{
	return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
}

cl_int CL_API_CALL dcl_clGetGLObjectInfo(
	cl_mem mem, cl_gl_object_type *type, cl_GLuint *name)
{
	return dcl_is(mem, DCL_MEM) ? CL_INVALID_GL_OBJECT : CL_INVALID_MEM_OBJECT;
}

cl_int CL_API_CALL dcl_clGetGLTextureInfo(
	cl_mem mem, cl_gl_texture_info param, size_t bytes, void *ret, size_t *ret_bytes)
{
	return dcl_is(mem, DCL_MEM) ? CL_INVALID_GL_OBJECT : CL_INVALID_MEM_OBJECT;
}

cl_int CL_API_CALL dcl_clEnqueueAcquireGLObjects(cl_command_queue q, cl_uint n_mems,
	const cl_mem *mems, cl_uint n, const cl_event *waits, cl_event *event)
{
	return dcl_is(q, DCL_QUEUE) ? CL_INVALID_CONTEXT : CL_INVALID_COMMAND_QUEUE;
}

cl_int CL_API_CALL dcl_clEnqueueReleaseGLObjects(cl_command_queue q, cl_uint n_mems,
	const cl_mem *mems, cl_uint n, const cl_event *waits, cl_event *event)
{
	return dcl_is(q, DCL_QUEUE) ? CL_INVALID_CONTEXT : CL_INVALID_COMMAND_QUEUE;
}

cl_int CL_API_CALL dcl_clGetGLContextInfoKHR(const cl_context_properties *properties,
	cl_gl_context_info param, size_t bytes, void *ret, size_t *ret_bytes)
{
	return CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR;
}

cl_event CL_API_CALL dcl_clCreateEventFromGLsyncKHR(
	cl_context context, cl_GLsync sync, cl_int *errcode_ret)
{
	return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
}

cl_mem CL_API_CALL dcl_clCreateFromEGLImageKHR(cl_context context,
	CLeglDisplayKHR display, CLeglImageKHR image, cl_mem_flags flags,
	const cl_egl_image_properties_khr *properties, cl_int *errcode_ret)
{
	return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
}

cl_int CL_API_CALL dcl_clEnqueueAcquireEGLObjectsKHR(cl_command_queue q, cl_uint n_mems,
	const cl_mem *mems, cl_uint n, const cl_event *waits, cl_event *event)
{
	return dcl_is(q, DCL_QUEUE) ? CL_INVALID_CONTEXT : CL_INVALID_COMMAND_QUEUE;
}

cl_int CL_API_CALL dcl_clEnqueueReleaseEGLObjectsKHR(cl_command_queue q, cl_uint n_mems,
	const cl_mem *mems, cl_uint n, const cl_event *waits, cl_event *event)
{
	return dcl_is(q, DCL_QUEUE) ? CL_INVALID_CONTEXT : CL_INVALID_COMMAND_QUEUE;
}

cl_event CL_API_CALL dcl_clCreateEventFromEGLSyncKHR(cl_context context,
	CLeglSyncKHR sync, CLeglDisplayKHR display, cl_int *errcode_ret)
{
	return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
}
