/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* What is fixed by the vendor's binary interface: numbers and layouts. */

enum {
	DCU_SUCCESS = 0,
	DCU_INVALID_VALUE = 1,
	DCU_OUT_OF_MEMORY = 2,
	DCU_NOT_INITIALIZED = 3,
	DCU_NO_DEVICE = 100,
	DCU_INVALID_DEVICE = 101,
	DCU_INVALID_IMAGE = 200,
	DCU_INVALID_CONTEXT = 201,
	DCU_ALREADY_MAPPED = 208,
	DCU_FILE_NOT_FOUND = 301,
	DCU_INVALID_HANDLE = 400,
	DCU_ILLEGAL_STATE = 401,
	DCU_NOT_FOUND = 500,
	DCU_NOT_READY = 600,
	DCU_PRIMARY_CONTEXT_ACTIVE = 708,
	DCU_CONTEXT_IS_DESTROYED = 709,
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
	DCU_UNKNOWN = 999,
};

#define DCU_STREAM_IS_LEGACY 1 /* as handles, beside NULL */
#define DCU_STREAM_IS_PER_THREAD 2

#define DCU_STREAM_NON_BLOCKING 1U
#define DCU_EVENT_DISABLE_TIMING 2U
#define DCU_EVENT_INTERPROCESS 4U

/* In the array that a launch may have instead of the parameters' addresses. */
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
struct ctx;
struct event;
struct func;
struct module;
struct stream;

typedef void (*host_fn)(void *user);
typedef void (*stream_fn)(struct stream *stream, int status, void *user);
typedef size_t (*smem_fn)(int block);

/* One side of a copy.  In 2D there are neither z nor level, in a copy between contexts
 * the context takes the place of what is reserved. */
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

struct create_params {
	struct affinity *affinity;
	int n_affinity;
	void *cig;
};

_Static_assert(sizeof(struct copy_2d) == 128, "as the vendor's");
_Static_assert(sizeof(struct copy_3d) == 200, "as the vendor's");
_Static_assert(sizeof(struct launch_attribute) == 72, "as the vendor's");
_Static_assert(sizeof(struct launch_config) == 56, "as the vendor's");
