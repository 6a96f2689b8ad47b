/* SPDX-License-Identifier: Apache-2.0 */
#include "object.h"
#include "tables.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Handles: pools of type-stable memory and the two counts. A dead object waits in a FIFO
 * before it is reused, so that a stale handle is detected for a long while; memory is not
 * returned to malloc. No API function is defined here. */

struct dcl_class {
	const char *name;
	size_t bytes;
	cl_int invalid;
	void (*destroy)(void *object);
};

/* clang-format off */
static const struct dcl_class classes[_DCL_TYPE_MAX] = {
	[DCL_PLATFORM] = { "platform", sizeof(struct _cl_platform_id), CL_INVALID_PLATFORM, NULL },
	[DCL_DEVICE] = { "device", sizeof(struct _cl_device_id), CL_INVALID_DEVICE, dcl_device_destroy },
	[DCL_CONTEXT] = { "context", sizeof(struct _cl_context), CL_INVALID_CONTEXT, dcl_context_destroy },
	[DCL_QUEUE] = { "command queue", sizeof(struct _cl_command_queue), CL_INVALID_COMMAND_QUEUE, dcl_queue_destroy },
	[DCL_MEM] = { "memory object", sizeof(struct _cl_mem), CL_INVALID_MEM_OBJECT, dcl_mem_destroy },
	[DCL_SAMPLER] = { "sampler", sizeof(struct _cl_sampler), CL_INVALID_SAMPLER, dcl_sampler_destroy },
	[DCL_PROGRAM] = { "program", sizeof(struct _cl_program), CL_INVALID_PROGRAM, dcl_program_destroy },
	[DCL_KERNEL] = { "kernel", sizeof(struct _cl_kernel), CL_INVALID_KERNEL, dcl_kernel_destroy },
	[DCL_EVENT] = { "event", sizeof(struct _cl_event), CL_INVALID_EVENT, dcl_event_destroy },
	[DCL_CMDBUF] = { "command buffer", sizeof(struct _cl_command_buffer_khr), CL_INVALID_COMMAND_BUFFER_KHR, dcl_cmdbuf_destroy },
};
/* clang-format on */

#define OBJECTS_PER_BLOCK 64
/* A dead object is not reused before this many others have died. */
#define QUARANTINE 64

struct block {
	struct block *next;
	char *objects;
};

static struct pool {
	pthread_mutex_t lock;
	struct block *blocks;
	struct dcl_object *head, *tail;
	size_t n_free;
	uint64_t n_live;
	uint32_t serial;
} pools[_DCL_TYPE_MAX] = {
	[0 ... _DCL_TYPE_MAX - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER},
};

static enum dcl_type type_of(const struct dcl_object *o)
{
	uint32_t magic = atomic_load_explicit(&o->magic, memory_order_relaxed);

	return (enum dcl_type)(magic & 0xff);
}

static size_t stride(enum dcl_type type)
{
	return (classes[type].bytes + 63) & ~(size_t)63;
}

static int pool_grow(struct pool *pool, enum dcl_type type)
{
	struct block *block = calloc(1, sizeof(*block));

	if (!block)
		return -1;
	block->objects = aligned_alloc(64, stride(type) * OBJECTS_PER_BLOCK);
	if (!block->objects) {
		free(block);
		return -1;
	}
	memset(block->objects, 0, stride(type) * OBJECTS_PER_BLOCK);
	block->next = pool->blocks;
	pool->blocks = block;
	for (int i = 0; i < OBJECTS_PER_BLOCK; i++) {
		struct dcl_object *o =
			(void *)(block->objects + (size_t)i * stride(type));

		o->next_free = NULL;
		if (pool->tail)
			pool->tail->next_free = o;
		else
			pool->head = o;
		pool->tail = o;
		pool->n_free++;
	}
	return 0;
}

void *dcl_object_new(enum dcl_type type)
{
	struct pool *pool = &pools[type];
	struct dcl_object *o = NULL;

	pthread_mutex_lock(&pool->lock);
	if (pool->n_free > QUARANTINE || pool_grow(pool, type) == 0) {
		o = pool->head;
		pool->head = o->next_free;
		if (!pool->head)
			pool->tail = NULL;
		pool->n_free--;
		pool->n_live++;
		o->serial = ++pool->serial;
	}
	pthread_mutex_unlock(&pool->lock);
	if (!o)
		return NULL;

	memset(o + 1, 0, classes[type].bytes - sizeof(*o));
	o->dispatch = dcl_table_of(type);
	atomic_store_explicit(&o->users, 1, memory_order_relaxed);
	atomic_store_explicit(&o->pins, 1, memory_order_relaxed);
	atomic_store_explicit(&o->magic, DCL_MAGIC(type), memory_order_release);
	return o;
}

void dcl_object_recycle(void *object)
{
	struct dcl_object *o = object;
	struct pool *pool = &pools[type_of(o)];

	atomic_fetch_or(&o->magic, DCL_DEAD);
	pthread_mutex_lock(&pool->lock);
	o->next_free = NULL;
	if (pool->tail)
		pool->tail->next_free = o;
	else
		pool->head = o;
	pool->tail = o;
	pool->n_free++;
	pool->n_live--;
	pthread_mutex_unlock(&pool->lock);
}

_Noreturn static void die(enum dcl_type type, const char *what, const void *object)
{
	fprintf(stderr, "cleave-double-opencl: %s %p %s\n", classes[type].name, object,
		what);
	abort();
}

cl_int dcl_object_retain(void *object, enum dcl_type type)
{
	struct dcl_object *o = object;

	if (!dcl_is(o, type)) {
		if (o && atomic_load(&o->magic) == (DCL_MAGIC(type) | DCL_DEAD))
			die(type, "retained after its last release", o);
		return classes[type].invalid;
	}
	if (atomic_fetch_add(&o->users, 1) <= 0)
		die(type, "retained after its last release", o);
	return CL_SUCCESS;
}

cl_int dcl_object_release(void *object, enum dcl_type type)
{
	struct dcl_object *o = object;
	int32_t users;

	if (!dcl_is(o, type)) {
		if (o && atomic_load(&o->magic) == (DCL_MAGIC(type) | DCL_DEAD))
			die(type, "released more often than it was retained", o);
		return classes[type].invalid;
	}
	users = atomic_fetch_sub(&o->users, 1);
	if (users <= 0)
		die(type, "released more often than it was retained", o);
	if (users == 1) {
		/* An event may be released before its callback, which gets the handle and
		 * may query it: it stays valid, except for reference counting, until it
		 * is destroyed. */
		if (type != DCL_EVENT)
			atomic_fetch_or(&o->magic, DCL_DEAD);
		dcl_object_unpin(o);
	}
	return CL_SUCCESS;
}

void dcl_object_pin(void *object)
{
	struct dcl_object *o = object;

	atomic_fetch_add_explicit(&o->pins, 1, memory_order_relaxed);
}

void dcl_object_unpin_many(void *object, int32_t n)
{
	struct dcl_object *o = object;

	if (atomic_fetch_sub(&o->pins, n) == n)
		classes[type_of(o)].destroy(o);
}

void dcl_object_unpin(void *object)
{
	dcl_object_unpin_many(object, 1);
}

bool dcl_object_find(enum dcl_type type, const void *pointer)
{
	struct pool *pool = &pools[type];
	const char *p = pointer;
	bool found = false;

	pthread_mutex_lock(&pool->lock);
	for (const struct block *b = pool->blocks; b && !found; b = b->next) {
		size_t offset = (size_t)(p - b->objects);

		found = (uintptr_t)p >= (uintptr_t)b->objects &&
			offset < stride(type) * OBJECTS_PER_BLOCK &&
			offset % stride(type) == 0;
	}
	pthread_mutex_unlock(&pool->lock);
	return found && dcl_is(pointer, type);
}

uint64_t dcl_object_count(enum dcl_type type)
{
	struct pool *pool = &pools[type];
	uint64_t n;

	pthread_mutex_lock(&pool->lock);
	n = pool->n_live;
	pthread_mutex_unlock(&pool->lock);
	return n;
}
