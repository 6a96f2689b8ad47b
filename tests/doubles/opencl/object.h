/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* A zeroed object with one user, or NULL. The caller fills it before other threads see
 * it. */
void *dcl_object_new(enum dcl_type type);

/* The API's retain and release: return CL_SUCCESS or the type's CL_INVALID_ code. A
 * release (or retain) of a dead handle ends the process with a message: the caller's
 * count is wrong, and later behaviour would only hide where. */
cl_int dcl_object_retain(void *object, enum dcl_type type);
cl_int dcl_object_release(void *object, enum dcl_type type);

/* Keep an object alive without making its handle valid.  Unpin destroys at zero; it must
 * not be called with a lock held. */
void dcl_object_pin(void *object);
void dcl_object_unpin(void *object);
void dcl_object_unpin_many(void *object, int32_t n);

/* True if `pointer` is the address of a live object of this type; does not access memory
 * that is not the double's own. */
bool dcl_object_find(enum dcl_type type, const void *pointer);

/* How many objects of a type are alive, including those that only commands hold. */
uint64_t dcl_object_count(enum dcl_type type);

static inline cl_uint dcl_object_users(const void *object)
{
	const struct dcl_object *o = object;

	return (cl_uint)atomic_load_explicit(&o->users, memory_order_relaxed);
}

/* Destroys an object of each type: called once, at the last unpin, with no lock held. */
void dcl_device_destroy(void *object);
void dcl_context_destroy(void *object);
void dcl_queue_destroy(void *object);
void dcl_mem_destroy(void *object);
void dcl_sampler_destroy(void *object);
void dcl_program_destroy(void *object);
void dcl_kernel_destroy(void *object);
void dcl_event_destroy(void *object);
void dcl_cmdbuf_destroy(void *object);

/* Returns the memory to the pool; the caller of a destroy function does this last. */
void dcl_object_recycle(void *object);
