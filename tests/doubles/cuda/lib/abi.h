/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The vendor's binary interface: numbers and layouts. */

enum {
	DCU_SUCCESS = 0,
	DCU_INVALID_VALUE = 1,
	DCU_OUT_OF_MEMORY = 2,
	DCU_NOT_INITIALIZED = 3,
	DCU_NO_DEVICE = 100,
	DCU_INVALID_DEVICE = 101,
	DCU_INVALID_IMAGE = 200,
	DCU_INVALID_CONTEXT = 201,
	DCU_UNSUPPORTED_EXEC_AFFINITY = 224,
	DCU_ALREADY_MAPPED = 208,
	DCU_INVALID_HANDLE = 400,
	DCU_ILLEGAL_STATE = 401,
	DCU_NOT_FOUND = 500,
	DCU_NOT_READY = 600,
	DCU_PRIMARY_CONTEXT_ACTIVE = 708,
	DCU_CONTEXT_IS_DESTROYED = 709,
	DCU_COOPERATIVE_TOO_LARGE = 720,
	DCU_NOT_PERMITTED = 800,
	DCU_NOT_SUPPORTED = 801,
	DCU_CAPTURE_UNSUPPORTED = 900,
	DCU_CAPTURE_INVALIDATED = 901,
	DCU_CAPTURE_MERGE = 902,
	DCU_CAPTURE_UNMATCHED = 903,
	DCU_CAPTURE_UNJOINED = 904,
	DCU_CAPTURE_ISOLATION = 905,
	DCU_CAPTURE_IMPLICIT = 906,
	DCU_CAPTURED_EVENT = 907,
	DCU_CAPTURE_WRONG_THREAD = 908,
	DCU_GRAPH_UPDATE_FAILURE = 910,
	DCU_STREAM_DETACHED = 917,
	DCU_UNKNOWN = 999,
};

#define DCU_STREAM_IS_LEGACY 1 /* as handles, beside NULL */
#define DCU_STREAM_IS_PER_THREAD 2

#define DCU_STREAM_NON_BLOCKING 1U
#define DCU_EVENT_DISABLE_TIMING 2U
#define DCU_EVENT_INTERPROCESS 4U

/* Keys of the array that a launch may have instead of the parameters' addresses. */
#define DCU_EXTRA_END 0
#define DCU_EXTRA_POINTER 1
#define DCU_EXTRA_BYTES 2

enum { DCU_MEMORY_HOST = 1, DCU_MEMORY_DEVICE, DCU_MEMORY_ARRAY, DCU_MEMORY_UNIFIED };

enum {
	DCU_PROC_LEGACY = 1,
	DCU_PROC_PER_THREAD = 2,
	DCU_PROC_FOUND = 0,
	DCU_PROC_NO_SYMBOL = 1,
	DCU_PROC_NO_VERSION = 2,
};

struct array;
struct capture;
struct ctx;
struct desc;
struct external;
struct semaphore;
struct mipmap;
struct phys;
struct pool;
struct event;
struct exec;
struct func;
struct graph;
struct green;
struct module;
struct object;
struct node;
struct stream;

typedef void (*host_fn)(void *user);
typedef void (*stream_fn)(struct stream *stream, int status, void *user);
typedef size_t (*smem_fn)(int block);

/* One side of a copy. The 2D form has neither z nor level; in a copy between contexts the
 * context is in the place of the reserved field. */
struct copy_2d_side {
	size_t x, y;
	uint32_t type;
	void *host;
	uint64_t device;
	struct array *array;
	size_t pitch;
};

struct copy_2d {
	struct copy_2d_side src, dst;
	size_t width, height;
};

struct copy_3d_side {
	size_t x, y, z, level;
	uint32_t type;
	void *host;
	uint64_t device;
	struct array *array;
	void *reserved;
	size_t pitch, height;
};

struct copy_3d {
	struct copy_3d_side src, dst;
	size_t width, height, depth;
};

struct launch_attribute {
	uint32_t id, pad;
	char value[64];
};

struct launch_config {
	unsigned grid[3], block[3], shared_bytes;
	struct stream *stream;
	struct launch_attribute *attributes;
	unsigned n_attributes;
};

struct launch_params {
	struct func *func;
	unsigned grid[3], block[3], shared_bytes;
	struct stream *stream;
	void **params;
};

struct uuid {
	unsigned char bytes[16];
};

struct location {
	int type, id;
};

struct affinity {
	int type, sm_count;
};

_Static_assert(sizeof(struct affinity) == 8, "as the vendor's");

struct create_params {
	struct affinity *affinity;
	int n_affinity;
	void *cig;
};

/* Formats are the vendor's numbers; the bits below 0x40 give the size of an element. */
struct array_shape {
	size_t width, height;
	uint32_t format, channels;
};

struct array3d_shape {
	size_t width, height, depth;
	uint32_t format, channels, flags;
};

#define DCU_ARRAY_LAYERED 1U
#define DCU_ARRAY_DEFERRED 0x80U /* memory is mapped to it later */

struct requirements {
	size_t bytes, alignment;
	uint32_t reserved[4];
};

enum { DCU_AT_DEVICE = 1, DCU_AT_HOST = 2, DCU_AT_HOST_NUMA = 3, DCU_AT_HOST_HERE = 4 };
#define DCU_HANDLE_FD 1U

struct allocation_prop {
	int type;
	uint32_t handle_types;
	struct location location;
	void *win32;
	unsigned char flags[8];
};

struct access {
	struct location location;
	int flags;
};

struct pool_props {
	int type;
	uint32_t handle_types;
	struct location location;
	void *win32;
	size_t max_bytes;
	uint16_t usage;
	unsigned char reserved[54];
};

struct multicast_prop {
	uint32_t n_devices;
	size_t bytes;
	unsigned long long handle_types, flags;
};

struct external_handle {
	int type;
	union {
		int fd;
		void *two[2];
	} handle;
	unsigned long long bytes;
	uint32_t flags, reserved[16];
};

struct semaphore_handle {
	int type;
	union {
		int fd;
		void *two[2];
	} handle;
	uint32_t flags, reserved[16];
};

/* For waits and for signals. */
struct semaphore_value {
	unsigned long long value;
	uint32_t more[34];
};

/* A handle, or the data of a pointer, that is sent to another process. */
struct shared_bytes {
	char bytes[64];
};

union batch_op {
	uint32_t operation;
	struct {
		uint32_t operation;
		uint64_t address, value;
		uint32_t flags;
		uint64_t alias;
	} value;
	uint64_t whole[6];
};

/* An operand of a copy in a batch: a pointer with its rows, or a place in an array. */
struct batch_operand {
	int type; /* 1: pointer, 2: array */
	union {
		struct {
			uint64_t address;
			size_t row, rows;
			struct location location;
		} pointer;
		struct {
			struct array *array;
			size_t offset[3];
		} array;
	};
};

struct batch_copy {
	struct batch_operand src, dst;
	size_t extent[3];
	int order;
	uint32_t flags;
};

enum {
	DCU_OP_WAIT_32 = 1,
	DCU_OP_WRITE_32,
	DCU_OP_FLUSH,
	DCU_OP_WAIT_64,
	DCU_OP_WRITE_64
};

enum {
	DCU_POOL_THRESHOLD = 4,
	DCU_POOL_RESERVED,
	DCU_POOL_RESERVED_HIGH,
	DCU_POOL_USED,
	DCU_POOL_USED_HIGH,
};

_Static_assert(sizeof(struct pool_props) == 88, "as the vendor's");
_Static_assert(sizeof(struct allocation_prop) == 32, "as the vendor's");
_Static_assert(sizeof(struct external_handle) == 104, "as the vendor's");
_Static_assert(sizeof(struct semaphore_handle) == 96, "as the vendor's");
_Static_assert(sizeof(struct semaphore_value) == 144, "as the vendor's");
_Static_assert(sizeof(union batch_op) == 48, "as the vendor's");
_Static_assert(sizeof(struct copy_2d) == 128, "as the vendor's");
_Static_assert(sizeof(struct copy_3d) == 200, "as the vendor's");
_Static_assert(sizeof(struct launch_attribute) == 72, "as the vendor's");
_Static_assert(sizeof(struct launch_config) == 56, "as the vendor's");

/* --- Graphs --- */

enum {
	DCU_NODE_KERNEL,
	DCU_NODE_COPY,
	DCU_NODE_SET,
	DCU_NODE_HOST,
	DCU_NODE_GRAPH,
	DCU_NODE_EMPTY,
	DCU_NODE_WAIT_EVENT,
	DCU_NODE_RECORD_EVENT,
	DCU_NODE_AWAIT = 9,
	DCU_NODE_ALLOC,
	DCU_NODE_FREE,
	DCU_NODE_CONDITIONAL = 13,
};

#define DCU_INSTANTIATE_AUTO_FREE 1U
#define DCU_INSTANTIATE_UPLOAD 2U
#define DCU_INSTANTIATE_DEVICE_LAUNCH 4U
#define DCU_CONDITION_ASSIGN_DEFAULT 1U

struct edge {
	unsigned char from_port, to_port, type, reserved[5];
};

/* Only the second form has the last two. */
struct kernel_params {
	struct func *func;
	unsigned grid[3], block[3], shared_bytes;
	void **params, **extra;
	struct func *kernel;
	struct ctx *ctx;
};
#define DCU_KERNEL_PARAMS_V1 offsetof(struct kernel_params, kernel)

struct set_params {
	uint64_t dst;
	size_t pitch;
	uint32_t value, element;
	size_t width, height;
};

struct host_params {
	host_fn fn;
	void *user;
};

struct alloc_params {
	struct pool_props pool;
	const struct access *access;
	size_t n_access, bytes;
	uint64_t address;
};

struct semaphores_params {
	struct semaphore *const *semaphores;
	const struct semaphore_value *values;
	unsigned n;
};

struct conditional_params {
	uint64_t handle;
	int type; /* 0: if, 1: while, 2: switch */
	uint32_t n_bodies;
	struct graph **bodies;
	struct ctx *ctx;
};

struct node_params {
	int type, reserved[3];
	union {
		long long whole[29];
		struct kernel_params kernel;
		struct {
			int flags, reserved;
			struct ctx *ctx;
			struct copy_3d copy;
		} copy;
		struct set_params set;
		struct host_params host;
		struct graph *graph;
		struct event *event;
		struct semaphores_params semaphores;
		struct alloc_params alloc;
		uint64_t freed;
		struct conditional_params conditional;
	};
	long long last;
};

struct instantiate_params {
	uint64_t flags;
	struct stream *upload;
	struct node *failed;
	int result;
};

struct update_result {
	int result;
	struct node *node, *from;
};

_Static_assert(sizeof(struct edge) == 8, "as the vendor's");
_Static_assert(sizeof(struct kernel_params) == 72, "as the vendor's");
_Static_assert(sizeof(struct node_params) == 256, "as the vendor's");

/* --- Parts of a GPU --- */

struct resource {
	int type; /* 1: multiprocessors */
	unsigned char padding[92];
	union {
		uint32_t sms;
		unsigned char room[48];
	};
};

_Static_assert(sizeof(struct resource) == 144, "as the vendor's");
