/* SPDX-License-Identifier: Apache-2.0 */
#include "mem.h"
#include "alive.h"
#include "callback.h"
#include "device.h"
#include "engine.h"
#include "entries.h"
#include "info.h"
#include "knobs.h"
#include "ledger.h"
#include "object.h"
#include "svm.h"
#include <stdlib.h>
#include <string.h>

/* Memory objects: buffers, sub-buffers, and the parts that images and pipes share with
 * them. Every object with bytes of its own is charged to every device of its context,
 * wherever its bytes really are: the strictest of the vendors' behaviours. */

#define ACCESS_FLAGS (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY)
#define POINTER_FLAGS (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)
#define HOST_FLAGS \
	(CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)

cl_int dcl_mem_check_flags(cl_mem_flags flags, const void *host_ptr)
{
	const cl_mem_flags known =
		ACCESS_FLAGS | POINTER_FLAGS | HOST_FLAGS | CL_MEM_KERNEL_READ_AND_WRITE;
	bool wants_ptr = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);

	if ((flags & ~known) || __builtin_popcountll(flags & ACCESS_FLAGS) > 1 ||
		__builtin_popcountll(flags & HOST_FLAGS) > 1)
		return CL_INVALID_VALUE;
	if ((flags & CL_MEM_USE_HOST_PTR) &&
		(flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)))
		return CL_INVALID_VALUE;
	return wants_ptr == (host_ptr != NULL) ? CL_SUCCESS : CL_INVALID_HOST_PTR;
}

static cl_int copy_props(cl_mem mem, const cl_mem_properties *props)
{
	size_t n = 0;

	if (!props)
		return CL_SUCCESS;
	while (props[n])
		n += 2;
	mem->props_bytes = (n + 1) * sizeof(*props);
	memcpy(mem->props, props, mem->props_bytes);
	return CL_SUCCESS;
}

static cl_int get_bytes(cl_mem mem, const struct dcl_mem_want *want)
{
	if (want->parent) {
		dcl_object_pin(want->parent);
		mem->parent = want->parent;
		mem->data = want->parent->data + want->origin_bytes;
		return CL_SUCCESS;
	}
	if (!dcl_ledger_charge_context(want->context, want->bytes))
		return CL_MEM_OBJECT_ALLOCATION_FAILURE;
	mem->charged_bytes = want->bytes;
	if (want->flags & CL_MEM_USE_HOST_PTR) {
		mem->data = want->host_ptr;
		mem->uses_svm = dcl_svm_find(want->host_ptr, NULL);
		return CL_SUCCESS;
	}
	mem->data = dcl_bytes_new(want->bytes, DCL_MEM_ALIGN_BYTES);
	if (!mem->data)
		return CL_OUT_OF_HOST_MEMORY;
	mem->owns_data = true;
	return CL_SUCCESS;
}

cl_mem dcl_mem_new(const struct dcl_mem_want *want, cl_int *rc)
{
	cl_int code = dcl_alive() ? dcl_fail_alloc() : CL_OUT_OF_RESOURCES;
	cl_mem mem;

	if (code)
		return dcl_fail(rc, code);
	mem = dcl_object_new(DCL_MEM);
	if (!mem)
		return dcl_fail(rc, CL_OUT_OF_HOST_MEMORY);
	pthread_mutex_init(&mem->lock, NULL);
	dcl_object_pin(want->context);
	mem->context = want->context;
	mem->type = want->type;
	mem->flags = want->flags;
	mem->bytes = want->bytes;
	mem->origin_bytes = want->origin_bytes;
	mem->host_ptr = want->flags & CL_MEM_USE_HOST_PTR ? want->host_ptr : NULL;
	code = copy_props(mem, want->props);
	if (!code)
		code = get_bytes(mem, want);
	if (code) {
		dcl_object_release(mem, DCL_MEM);
		return dcl_fail(rc, code);
	}
	dcl_set_error(rc, CL_SUCCESS);
	return mem;
}

static void mem_delete(struct dcl_callback *cb)
{
	cl_mem mem = cb->object;

	free(cb);
	dcl_mem_destroy(mem);
}

static void run_destructor(struct dcl_callback *cb)
{
	void(CL_CALLBACK * fn)(cl_mem, void *) = cb->function;

	fn(cb->object, cb->user);
	free(cb);
}

void dcl_mem_destroy(void *object)
{
	cl_mem mem = object, parent = mem->parent;
	cl_context context = mem->context;
	struct dcl_callback *cb, *next;
	struct dcl_map *map;

	if (mem->destructors && dcl_engine_is_this_thread()) {
		cb = dcl_callback_new(mem_delete, mem, NULL, NULL);
		if (!cb)
			abort();
		dcl_callback_post(cb);
		return;
	}
	for (cb = mem->destructors; cb; cb = next) {
		next = cb->next;
		run_destructor(cb);
	}
	while ((map = mem->maps)) {
		mem->maps = map->next;
		free(map);
	}
	if (mem->owns_data)
		dcl_bytes_free(mem->data, mem->bytes);
	if (mem->charged_bytes)
		dcl_ledger_refund_context(context, mem->charged_bytes);
	pthread_mutex_destroy(&mem->lock);
	dcl_object_recycle(mem);
	if (parent)
		dcl_object_unpin(parent);
	dcl_object_unpin(context);
}

static cl_int check_props(const cl_mem_properties *props)
{
	/* The double defines no property: only the empty list is valid. */
	return props && props[0] ? CL_INVALID_PROPERTY : CL_SUCCESS;
}

cl_mem CL_API_CALL dcl_clCreateBufferWithProperties(cl_context context,
	const cl_mem_properties *props, cl_mem_flags flags, size_t bytes, void *host_ptr,
	cl_int *errcode_ret)
{
	struct dcl_mem_want want = {
		.context = context,
		.type = CL_MEM_OBJECT_BUFFER,
		.flags = flags,
		.bytes = bytes,
		.host_ptr = host_ptr,
		.props = props,
	};
	cl_mem mem;
	cl_int rc;

	if (!dcl_is(context, DCL_CONTEXT))
		return dcl_fail(errcode_ret, CL_INVALID_CONTEXT);
	rc = check_props(props);
	if (!rc)
		rc = dcl_mem_check_flags(flags, host_ptr);
	if (rc)
		return dcl_fail(errcode_ret, rc);
	if (bytes == 0 || bytes > context->devices[0]->max_alloc_bytes)
		return dcl_fail(errcode_ret, CL_INVALID_BUFFER_SIZE);
	if (!(flags & ACCESS_FLAGS))
		want.flags |= CL_MEM_READ_WRITE;
	mem = dcl_mem_new(&want, errcode_ret);
	if (mem && (flags & CL_MEM_COPY_HOST_PTR))
		memcpy(mem->data, host_ptr, bytes);
	return mem;
}

cl_mem CL_API_CALL dcl_clCreateBuffer(cl_context context, cl_mem_flags flags,
	size_t bytes, void *host_ptr, cl_int *errcode_ret)
{
	return dcl_clCreateBufferWithProperties(
		context, NULL, flags, bytes, host_ptr, errcode_ret);
}

static cl_int inherit_flags(cl_mem parent, cl_mem_flags *flags)
{
	cl_mem_flags access = parent->flags & ACCESS_FLAGS,
		     host = parent->flags & HOST_FLAGS;

	if ((*flags & ~(cl_mem_flags)(ACCESS_FLAGS | HOST_FLAGS)) ||
		__builtin_popcountll(*flags & ACCESS_FLAGS) > 1)
		return CL_INVALID_VALUE;
	if ((access == CL_MEM_WRITE_ONLY || access == CL_MEM_READ_ONLY) &&
		(*flags & ACCESS_FLAGS & ~access))
		return CL_INVALID_VALUE;
	if (host && (*flags & HOST_FLAGS & ~(host | CL_MEM_HOST_NO_ACCESS)))
		return CL_INVALID_VALUE;
	if (!(*flags & ACCESS_FLAGS))
		*flags |= access;
	if (!(*flags & HOST_FLAGS))
		*flags |= host;
	*flags |= parent->flags & POINTER_FLAGS;
	return CL_SUCCESS;
}

cl_mem CL_API_CALL dcl_clCreateSubBuffer(cl_mem parent, cl_mem_flags flags,
	cl_buffer_create_type type, const void *info, cl_int *errcode_ret)
{
	const cl_buffer_region *region = info;
	struct dcl_mem_want want;
	cl_int rc;

	if (!dcl_is(parent, DCL_MEM) || parent->type != CL_MEM_OBJECT_BUFFER ||
		parent->parent)
		return dcl_fail(errcode_ret, CL_INVALID_MEM_OBJECT);
	if (type != CL_BUFFER_CREATE_TYPE_REGION || !region)
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	rc = inherit_flags(parent, &flags);
	if (rc)
		return dcl_fail(errcode_ret, rc);
	if (region->size == 0)
		return dcl_fail(errcode_ret, CL_INVALID_BUFFER_SIZE);
	if (region->origin > parent->bytes ||
		region->size > parent->bytes - region->origin)
		return dcl_fail(errcode_ret, CL_INVALID_VALUE);
	if (region->origin % DCL_MEM_ALIGN_BYTES)
		return dcl_fail(errcode_ret, CL_MISALIGNED_SUB_BUFFER_OFFSET);
	want = (struct dcl_mem_want){
		.context = parent->context,
		.type = CL_MEM_OBJECT_BUFFER,
		.flags = flags,
		.bytes = region->size,
		.host_ptr = parent->host_ptr ? (char *)parent->host_ptr + region->origin
					     : NULL,
		.parent = parent,
		.origin_bytes = region->origin,
	};
	return dcl_mem_new(&want, errcode_ret);
}

cl_int CL_API_CALL dcl_clRetainMemObject(cl_mem mem)
{
	return dcl_object_retain(mem, DCL_MEM);
}

cl_int CL_API_CALL dcl_clReleaseMemObject(cl_mem mem)
{
	return dcl_object_release(mem, DCL_MEM);
}

cl_int CL_API_CALL dcl_clSetMemObjectDestructorCallback(
	cl_mem mem, void(CL_CALLBACK *fn)(cl_mem, void *), void *user)
{
	struct dcl_callback *cb;

	if (!dcl_is(mem, DCL_MEM))
		return CL_INVALID_MEM_OBJECT;
	if (!fn)
		return CL_INVALID_VALUE;
	cb = dcl_callback_new(run_destructor, mem, (void *)fn, user);
	if (!cb)
		return CL_OUT_OF_HOST_MEMORY;
	pthread_mutex_lock(&mem->lock);
	cb->next = mem->destructors;
	mem->destructors = cb;
	atomic_store_explicit(&mem->watched, true, memory_order_release);
	pthread_mutex_unlock(&mem->lock);
	return CL_SUCCESS;
}

bool dcl_mem_map_add(cl_mem mem, void *pointer)
{
	struct dcl_map *map = malloc(sizeof(*map));

	if (!map)
		return false;
	map->pointer = pointer;
	pthread_mutex_lock(&mem->lock);
	map->next = mem->maps;
	mem->maps = map;
	mem->n_maps++;
	pthread_mutex_unlock(&mem->lock);
	return true;
}

bool dcl_mem_map_remove(cl_mem mem, void *pointer)
{
	struct dcl_map **at, *map;

	pthread_mutex_lock(&mem->lock);
	for (at = &mem->maps; (map = *at) && map->pointer != pointer;)
		at = &map->next;
	if (map) {
		*at = map->next;
		mem->n_maps--;
	}
	pthread_mutex_unlock(&mem->lock);
	free(map);
	return map != NULL;
}

/* clang-format off */
static const struct dcl_info mem_info[] = {
	DCL_F(CL_MEM_TYPE, struct _cl_mem, type),
	DCL_F(CL_MEM_FLAGS, struct _cl_mem, flags),
	DCL_F(CL_MEM_SIZE, struct _cl_mem, bytes),
	DCL_F(CL_MEM_HOST_PTR, struct _cl_mem, host_ptr),
	DCL_F(CL_MEM_MAP_COUNT, struct _cl_mem, n_maps),
	DCL_REFS(CL_MEM_REFERENCE_COUNT),
	DCL_F(CL_MEM_CONTEXT, struct _cl_mem, context),
	DCL_F(CL_MEM_ASSOCIATED_MEMOBJECT, struct _cl_mem, parent),
	DCL_F(CL_MEM_OFFSET, struct _cl_mem, origin_bytes),
	DCL_A(CL_MEM_PROPERTIES, struct _cl_mem, props, props_bytes),
};
/* clang-format on */

cl_int CL_API_CALL dcl_clGetMemObjectInfo(
	cl_mem mem, cl_mem_info param, size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!dcl_is(mem, DCL_MEM))
		return CL_INVALID_MEM_OBJECT;
	if (param == CL_MEM_USES_SVM_POINTER) {
		cl_bool uses = mem->uses_svm;

		return dcl_info_reply(&uses, sizeof(uses), bytes, ret, ret_bytes);
	}
	return dcl_info_get(
		mem_info, DCL_ROWS(mem_info), mem, param, bytes, ret, ret_bytes);
}
