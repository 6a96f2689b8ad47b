/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The objects of the OpenCL double.  Lock order: queue->lock, then the scheduler's lock,
 * then leaf locks (pools, ledger, callbacks).  No lock is held while a user's callback
 * runs or while an object is destroyed. */

enum dcl_type {
	DCL_PLATFORM,
	DCL_DEVICE,
	DCL_CONTEXT,
	DCL_QUEUE,
	DCL_MEM,
	DCL_SAMPLER,
	DCL_PROGRAM,
	DCL_KERNEL,
	DCL_EVENT,
	DCL_CMDBUF,
	_DCL_TYPE_MAX,
};

#define DCL_MAGIC(type) (0xdc100000U | (uint32_t)(type))
#define DCL_DEAD 0x8000U

/* Every handle starts like this; the loader needs `dispatch` first. `users` is the count
 * the API shows; `pins` counts users (as one) plus commands and children. At users == 0
 * the handle is dead to callers, at pins == 0 the object is destroyed. The memory is
 * type-stable and reused late, so that a stale handle is detected instead of
 * dereferenced. */
struct dcl_object {
	const cl_icd_dispatch *dispatch;
	_Atomic uint32_t magic;
	_Atomic int32_t users;
	_Atomic int32_t pins;
	uint32_t serial;
	struct dcl_object *next_free;
};

/* A node in the list of waiters for an event or a command: a command or a thread. */
struct dcl_link {
	struct dcl_link *next;
	struct dcl_cmd *cmd;
	struct dcl_waiter *waiter;
	bool from_event;
};

struct dcl_links {
	struct dcl_link *head, *tail;
};

/* A thread that sleeps until `left` reaches 0; `status` is the worst status seen.  `own`
 * is the link for a wait that is for one command and not for events. */
struct dcl_waiter {
	_Atomic uint32_t left;
	_Atomic int32_t status;
	struct dcl_link own;
};

struct dcl_callback {
	struct dcl_callback *next;
	void (*run)(
		struct dcl_callback *cb); /* called on the callback thread, frees cb */
	void *object;
	void *function;
	void *user;
	cl_int status; /* wanted while registered, reached when run */
};

struct _cl_platform_id {
	struct dcl_object obj;
};

struct _cl_device_id {
	struct dcl_object obj;
	cl_device_id parent; /* NULL for a root device */
	struct dcl_engine *engine;
	cl_uint compute_units;
	cl_ulong mem_bytes, max_alloc_bytes;
	char name[64];
	cl_device_partition_property partition[34]; /* its property, with the 0 */
	size_t partition_bytes;
};

struct _cl_context {
	struct dcl_object obj;
	cl_uint n_devices;
	cl_device_id *devices;
	cl_context_properties *props;
	size_t props_bytes;
	pthread_mutex_t lock;
	struct dcl_callback *destructors;
};

/* Commands of an out-of-order queue between two "wait for all before" commands. */
struct dcl_group {
	struct dcl_group *next;
	struct dcl_cmd *closer;
	uint64_t left;
};

struct _cl_command_queue {
	struct dcl_object obj;
	cl_context context;
	cl_device_id device;
	cl_command_queue_properties props;
	cl_queue_properties prop_list[16];
	size_t prop_list_bytes;

	pthread_mutex_t lock; /* pending, idle, slabs, counters that enqueue writes */
	struct dcl_cmd *pending, *pending_tail;
	struct dcl_cmd *idle;
	struct dcl_slab *slabs;
	_Atomic uint64_t enqueued, kernels, flushes; /* one writer: under lock */
	_Atomic(struct dcl_cmd *) returned;          /* retired, not yet idle */

	/* Under the scheduler's lock. */
	struct dcl_cmd *last;    /* newest incomplete, in-order queues */
	struct dcl_cmd *barrier; /* newest incomplete, out-of-order queues */
	struct dcl_group *group, *group_tail;
	_Atomic uint64_t completed;

	struct _cl_command_queue *next_live, **prev_live;
};

enum dcl_op {
	DCL_OP_NONE,
	DCL_OP_KERNEL,
	DCL_OP_RECT,
	DCL_OP_FILL,
	DCL_OP_NATIVE,
	DCL_OP_SVM_FREE,
	DCL_OP_CMDBUF,
};

struct dcl_rect {
	uint8_t *dst;
	const uint8_t *src;
	size_t dst_row, dst_slice, src_row, src_slice;
	size_t region[3]; /* bytes, rows, slices */
};

struct dcl_fill {
	uint8_t *dst;
	size_t row, slice, region[3];
	size_t pattern_bytes;
	uint8_t pattern[128];
};

struct dcl_native {
	void(CL_CALLBACK *fn)(void *);
	void *args; /* owned */
};

struct dcl_svm_free {
	void(CL_CALLBACK *fn)(cl_command_queue, cl_uint, void *[], void *);
	void *user;
	cl_uint n;
	void **pointers; /* owned */
};

/* How a command is ordered in its queue. */
enum dcl_order {
	DCL_PLAIN,
	DCL_MARKER,
	DCL_BARRIER,
};

struct dcl_wait {
	cl_event event;
	struct dcl_link link;
};

#define DCL_INLINE_MEMS 6
#define DCL_INLINE_WAITS 3

struct dcl_cmd {
	struct dcl_cmd *next; /* pending, ready, retired or idle */
	cl_command_queue queue;
	cl_event event;
	cl_command_type type;
	uint8_t op, order;
	bool internal; /* clFinish's own marker: not counted */
	int32_t fail;  /* status if it must not run */
	uint32_t deps;
	uint32_t n_waits, n_mems;
	uint64_t kernel_ns;
	cl_kernel kernel; /* the caller's; not dereferenced after the enqueue */
	struct dcl_wait *waits;
	cl_mem *mems;
	struct dcl_waiter *wake;
	struct dcl_group *group;
	struct dcl_links followers;
	struct dcl_link order_link;
	cl_mem mems_inline[DCL_INLINE_MEMS];
	struct dcl_wait waits_inline[DCL_INLINE_WAITS];
	union {
		struct dcl_rect rect;
		struct dcl_fill fill;
		struct dcl_native native;
		struct dcl_svm_free svm_free;
		cl_command_buffer_khr cmdbuf;
	} u;
};

struct _cl_event {
	struct dcl_object obj;
	cl_context context;
	cl_command_queue queue; /* NULL for a user event */
	cl_command_type type;
	_Atomic int32_t status;
	bool profiled;
	cl_ulong queued_ns, submit_ns, start_ns, end_ns;
	struct dcl_links followers;     /* scheduler's lock */
	struct dcl_callback *callbacks; /* scheduler's lock */
};

struct dcl_map {
	struct dcl_map *next;
	void *pointer;
};

struct _cl_mem {
	struct dcl_object obj;
	cl_context context;
	cl_mem parent; /* a sub-buffer's or an image-from-buffer's memory */
	cl_mem_object_type type;
	cl_mem_flags flags;
	size_t bytes, origin_bytes, charged_bytes;
	uint8_t *data;
	bool owns_data;
	bool uses_svm;
	void *host_ptr;
	cl_image_format format;
	cl_image_desc desc;
	size_t element_bytes, row_bytes, slice_bytes;
	cl_uint packet_bytes, max_packets;
	cl_mem_properties props[8];
	size_t props_bytes;
	pthread_mutex_t lock;
	struct dcl_map *maps;
	cl_uint n_maps;
	struct dcl_callback *destructors;
	_Atomic bool watched; /* has destructors */
};

struct _cl_sampler {
	struct dcl_object obj;
	cl_context context;
	cl_bool normalized;
	cl_addressing_mode addressing;
	cl_filter_mode filter;
	cl_sampler_properties props[8];
	size_t props_bytes;
};

struct _cl_program {
	struct dcl_object obj;
	cl_context context;
	char *source; /* text, or the bytes of IL or of a binary */
	size_t source_bytes;
	bool is_il, is_builtin, built, compiled;
	char *options;
	char *kernel_names; /* "a;b", found in the text */
	cl_uint n_kernels;
	_Atomic int32_t live_kernels;
};

enum dcl_arg_kind {
	DCL_ARG_ANY, /* the text does not say */
	DCL_ARG_VALUE,
	DCL_ARG_MEM,
	DCL_ARG_LOCAL,
};

#define DCL_MAX_ARGS 64

struct dcl_arg {
	uint8_t kind;
	bool set;
	cl_mem mem;
	uint32_t mem_serial;
};

struct _cl_kernel {
	struct dcl_object obj;
	cl_program program;
	char name[64];
	bool is_spin, args_known;
	cl_uint n_args, n_unset, n_mems; /* n_args is the highest set + 1 if not known */
	uint64_t kernel_ns;
	struct dcl_arg args[DCL_MAX_ARGS];
};

struct _cl_command_buffer_khr {
	struct dcl_object obj;
	cl_command_queue queue;
	cl_command_buffer_state_khr state;
	cl_command_buffer_properties_khr props[8];
	size_t props_bytes;
	_Atomic uint32_t pending;
	struct dcl_cmd *steps, **steps_tail;
	uint32_t n_steps;
	bool simultaneous;
};

extern const cl_icd_dispatch dcl_dispatch;
extern struct _cl_platform_id dcl_platform;

static inline bool dcl_is(const void *object, enum dcl_type type)
{
	const struct dcl_object *o = object;

	return o &&
	       atomic_load_explicit(&o->magic, memory_order_relaxed) == DCL_MAGIC(type);
}

static inline void dcl_set_error(cl_int *ret, cl_int code)
{
	if (ret)
		*ret = code;
}

static inline void *dcl_fail(cl_int *ret, cl_int code)
{
	dcl_set_error(ret, code);
	return NULL;
}

static inline uint64_t dcl_load(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* For counters with one writer at a time: a plain add that a reader may watch. */
static inline void dcl_bump(_Atomic uint64_t *counter, uint64_t by)
{
	atomic_store_explicit(counter, dcl_load(counter) + by, memory_order_relaxed);
}
