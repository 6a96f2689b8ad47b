/* SPDX-License-Identifier: Apache-2.0 */
#include "alive.h"
#include "callback.h"
#include "device.h"
#include "engine.h"
#include "entries.h"
#include "info.h"
#include "object.h"
#include <stdlib.h>
#include <string.h>

/* Contexts. A context lives as long as its objects; its destructor callbacks run when the
 * last of them is destroyed. */

static cl_int check_properties(const cl_context_properties *list, size_t *bytes)
{
	size_t n = 0;

	for (; list && list[n]; n += 2) {
		switch (list[n]) {
		case CL_CONTEXT_PLATFORM:
			if ((cl_platform_id)list[n + 1] != &dcl_platform)
				return CL_INVALID_PLATFORM;
			break;
		case CL_CONTEXT_INTEROP_USER_SYNC:
			break;
		default:
			return CL_INVALID_PROPERTY;
		}
	}
	*bytes = list ? (n + 1) * sizeof(*list) : 0;
	return CL_SUCCESS;
}

static void *copy_of(const void *from, size_t bytes)
{
	void *to = malloc(bytes ? bytes : 1);

	if (to && bytes)
		memcpy(to, from, bytes);
	return to;
}

cl_context CL_API_CALL dcl_clCreateContext(const cl_context_properties *properties,
	cl_uint n, const cl_device_id *devices,
	void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user,
	cl_int *errcode_ret)
{
	cl_context context;
	size_t bytes;
	cl_int rc;

	rc = check_properties(properties, &bytes);
	if (rc)
		return dcl_fail(errcode_ret, rc);
	if (!devices || n == 0 || (!notify && user))
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	for (cl_uint i = 0; i < n; i++)
		if (!dcl_is(devices[i], DCL_DEVICE))
			return dcl_fail(errcode_ret, CL_INVALID_DEVICE);
	if (!dcl_alive())
		return dcl_fail(errcode_ret, CL_OUT_OF_RESOURCES);

	context = dcl_object_new(DCL_CONTEXT);
	if (!context)
		return dcl_fail(errcode_ret, CL_OUT_OF_HOST_MEMORY);
	pthread_mutex_init(&context->lock, NULL);
	context->devices = copy_of(devices, n * sizeof(*devices));
	context->props = copy_of(properties, bytes);
	if (!context->devices || !context->props) {
		dcl_object_unpin(context);
		return dcl_fail(errcode_ret, CL_OUT_OF_HOST_MEMORY);
	}
	context->props_bytes = bytes;
	context->n_devices = n;
	for (cl_uint i = 0; i < n; i++)
		dcl_object_pin(devices[i]);
	dcl_set_error(errcode_ret, CL_SUCCESS);
	return context;
}

cl_context CL_API_CALL dcl_clCreateContextFromType(
	const cl_context_properties *properties, cl_device_type type,
	void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user,
	cl_int *errcode_ret)
{
	cl_device_id devices[DCL_MAX_DEVICES];
	cl_uint n;
	cl_int rc;

	rc = dcl_clGetDeviceIDs(&dcl_platform, type, DCL_MAX_DEVICES, devices, &n);
	if (rc)
		return dcl_fail(errcode_ret, rc);
	return dcl_clCreateContext(properties, n, devices, notify, user, errcode_ret);
}

static void run_destructor(struct dcl_callback *cb)
{
	void(CL_CALLBACK * fn)(cl_context, void *) = cb->function;

	fn(cb->object, cb->user);
	free(cb);
}

static void context_delete(struct dcl_callback *cb)
{
	cl_context context = cb->object;

	free(cb);
	dcl_context_destroy(context);
}

void dcl_context_destroy(void *object)
{
	cl_context context = object;
	struct dcl_callback *cb, *next;

	if (context->destructors && dcl_engine_is_this_thread()) {
		cb = dcl_callback_new(context_delete, context, NULL, NULL);
		if (!cb)
			abort();
		dcl_callback_post(cb);
		return;
	}
	for (cb = context->destructors; cb; cb = next) {
		next = cb->next;
		run_destructor(cb);
	}
	for (cl_uint i = 0; i < context->n_devices; i++)
		dcl_object_unpin(context->devices[i]);
	free(context->devices);
	free(context->props);
	pthread_mutex_destroy(&context->lock);
	dcl_object_recycle(context);
}

cl_int CL_API_CALL dcl_clRetainContext(cl_context context)
{
	return dcl_object_retain(context, DCL_CONTEXT);
}

cl_int CL_API_CALL dcl_clReleaseContext(cl_context context)
{
	return dcl_object_release(context, DCL_CONTEXT);
}

cl_int CL_API_CALL dcl_clSetContextDestructorCallback(
	cl_context context, void(CL_CALLBACK *fn)(cl_context, void *), void *user)
{
	struct dcl_callback *cb;

	if (!dcl_is(context, DCL_CONTEXT))
		return CL_INVALID_CONTEXT;
	if (!fn)
		return CL_INVALID_VALUE;
	cb = dcl_callback_new(run_destructor, context, (void *)fn, user);
	if (!cb)
		return CL_OUT_OF_HOST_MEMORY;
	pthread_mutex_lock(&context->lock);
	cb->next = context->destructors;
	context->destructors = cb;
	pthread_mutex_unlock(&context->lock);
	return CL_SUCCESS;
}

static const void *context_devices(const void *object, size_t *bytes, void *scratch)
{
	const struct _cl_context *context = object;

	*bytes = context->n_devices * sizeof(*context->devices);
	return context->devices;
}

static const void *context_properties(const void *object, size_t *bytes, void *scratch)
{
	const struct _cl_context *context = object;

	*bytes = context->props_bytes;
	return context->props;
}

/* clang-format off */
static const struct dcl_info context_info[] = {
	DCL_REFS(CL_CONTEXT_REFERENCE_COUNT),
	DCL_F(CL_CONTEXT_NUM_DEVICES, struct _cl_context, n_devices),
	DCL_M(CL_CONTEXT_DEVICES, context_devices),
	DCL_M(CL_CONTEXT_PROPERTIES, context_properties),
};
/* clang-format on */

cl_int CL_API_CALL dcl_clGetContextInfo(cl_context context, cl_context_info param,
	size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!dcl_is(context, DCL_CONTEXT))
		return CL_INVALID_CONTEXT;
	return dcl_info_get(context_info, DCL_ROWS(context_info), context, param, bytes,
		ret, ret_bytes);
}
