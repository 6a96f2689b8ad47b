/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The part of HIP's ABI that is needed here, declared independently. DHI_ROCM is the
 * version, 5 or 6, where they differ. */

struct stream;
struct event;
struct module;
struct func;
struct graph;
struct node;
struct exec;
struct pool;
struct array;
struct mipmap;
struct physical;
struct ctx;
struct semaphore;

enum {
	HIP_OK = 0,
	HIP_INVALID_VALUE = 1,
	HIP_OUT_OF_MEMORY = 2,
	HIP_NOT_INITIALIZED = 3,
	HIP_INVALID_CONFIGURATION = 9,
	HIP_INVALID_SYMBOL = 13,
	HIP_INVALID_DEVICE_POINTER = 17,
	HIP_INVALID_DIRECTION = 21,
	HIP_INVALID_DEVICE_FUNCTION = 98,
	HIP_NO_DEVICE = 100,
	HIP_INVALID_DEVICE = 101,
	HIP_INVALID_IMAGE = 200,
	HIP_INVALID_CONTEXT = 201,
	HIP_MAP_FAILED = 205,
	HIP_FILE_NOT_FOUND = 301,
	HIP_INVALID_HANDLE = 400,
	HIP_ILLEGAL_STATE = 401,
	HIP_NOT_FOUND = 500,
	HIP_NOT_READY = 600,
	HIP_PEER_ENABLED = 704,
	HIP_PEER_NOT_ENABLED = 705,
	HIP_HOST_REGISTERED = 712,
	HIP_HOST_NOT_REGISTERED = 713,
	HIP_LAUNCH_FAILURE = 719,
	HIP_COOPERATIVE_TOO_LARGE = 720,
	HIP_NOT_SUPPORTED = 801,
	HIP_CAPTURE_UNSUPPORTED = 900,
	HIP_CAPTURE_INVALIDATED = 901,
	HIP_CAPTURE_UNMATCHED = 903,
	HIP_CAPTURE_UNJOINED = 904,
	HIP_CAPTURE_ISOLATION = 905,
	HIP_CAPTURE_IMPLICIT = 906,
	HIP_CAPTURED_EVENT = 907,
	HIP_CAPTURE_WRONG_THREAD = 908,
	HIP_GRAPH_UPDATE_FAILURE = 910,
	HIP_UNKNOWN = 999,
};

enum {
	HIP_TO_HOST = 2,
	HIP_TO_DEVICE = 1,
	HIP_WITHIN = 3,
	HIP_HOST_TO_HOST = 0,
	HIP_ANY = 4
};

#if DHI_ROCM >= 6
enum {
	HIP_MEMORY_NONE = 0,
	HIP_MEMORY_HOST = 1,
	HIP_MEMORY_DEVICE = 2,
	HIP_MEMORY_MANAGED = 3,
	HIP_MEMORY_ARRAY = 10,
	HIP_MEMORY_UNIFIED = 11
};
#else
enum {
	HIP_MEMORY_HOST = 0,
	HIP_MEMORY_DEVICE = 1,
	HIP_MEMORY_ARRAY = 2,
	HIP_MEMORY_UNIFIED = 3,
	HIP_MEMORY_MANAGED = 0
};
#endif

#define HIP_PER_THREAD ((struct stream *)2)
#define HIP_LEGACY ((struct stream *)1)
#define HIP_BUFFER_POINTER ((void *)1)
#define HIP_BUFFER_SIZE ((void *)2)
#define HIP_BUFFER_END ((void *)3)

struct dim3 {
	uint32_t x, y, z;
};

struct uuid {
	char bytes[16];
};

struct props_5 {
	char name[256];
	size_t total_bytes, shared_bytes;
	int registers, warp, block_max, block_dim_max[3], grid_max[3];
	int clock, memory_clock, memory_width;
	size_t const_bytes;
	int major, minor, units, l2_bytes, threads_per_unit, compute_mode,
		instruction_clock;
	unsigned arch;
	int concurrent_kernels, domain, bus, device;
	size_t shared_per_unit;
	int is_multi_board, can_map_host, gcn_arch;
	char arch_name[256];
	int integrated, cooperative, cooperative_multi;
	int textures[7];
	unsigned *flush[2];
	size_t pitch_max, texture_alignment, texture_pitch_alignment;
	int rest[7];
	int is_large_bar, revision, managed, direct_managed, concurrent_managed, pageable,
		pageable_tables;
};

struct props_6 {
	char name[256];
	struct uuid uuid;
	char luid[8];
	unsigned luid_mask;
	size_t total_bytes, shared_bytes;
	int registers, warp;
	size_t pitch_max;
	int block_max, block_dim_max[3], grid_max[3], clock;
	size_t const_bytes;
	int major, minor;
	size_t texture_alignment, texture_pitch_alignment;
	int device_overlap, units, timeout, integrated, can_map_host, compute_mode;
	int textures[40];
	size_t surface_alignment;
	int concurrent_kernels, ecc, bus, device, domain, tcc, engines, unified,
		memory_clock, memory_width, l2_bytes, l2_persisting, threads_per_unit,
		priorities, l1[2];
	size_t shared_per_unit;
	int registers_per_unit, managed, is_multi_board, board, native_atomics, ratio,
		pageable, concurrent_managed, preemption, registered_pointers,
		cooperative, cooperative_multi;
	size_t shared_optin;
	int pageable_tables, direct_managed, blocks_per_unit, window;
	size_t reserved_shared;
	int host_register, sparse, read_only, timeline, pools, rdma;
	unsigned rdma_flush;
	int rdma_order;
	unsigned pool_handles;
	int deferred, ipc_events, cluster, unified_functions, reserved[63],
		hip_reserved[32];
	char arch_name[256];
	size_t shared_per_unit_max;
	int instruction_clock;
	unsigned arch;
	unsigned *flush[2];
	int unmatched[4], is_large_bar, revision;
};

_Static_assert(sizeof(struct props_6) == 1472, "as programs know it");
_Static_assert(offsetof(struct props_6, arch_name) == 1160, "as programs know it");

struct pointer_attributes {
	int type, device;
	void *device_pointer, *host_pointer;
	int is_managed;
	unsigned flags;
};

struct func_attributes {
	int binary, cache;
	size_t const_bytes, local_bytes;
	int shared_max, block_max, registers, carveout, ptx;
	size_t shared_bytes;
};

struct hip_ipc {
	char bytes[64];
};

struct launch {
	const void *function;
	struct dim3 grid, block;
	void **args;
	size_t shared;
	struct stream *stream;
};

struct launch_config {
	struct dim3 grid, block;
	size_t shared;
	struct stream *stream;
	void *attributes;
	unsigned n_attributes;
};

struct drv_launch_config {
	unsigned grid[3], block[3], shared;
	struct stream *stream;
	void *attributes;
	unsigned n_attributes;
};

struct pitched {
	void *p;
	size_t pitch, width, height;
};

struct extent {
	size_t width, height, depth;
};

struct position {
	size_t x, y, z;
};

struct channels {
	int bits[4], kind;
};

struct array_desc {
	size_t width, height;
	int format;
	unsigned channels;
};

struct array_3d_desc {
	size_t width, height, depth;
	int format;
	unsigned channels, flags;
};

struct copy_3d {
	struct array *src_array;
	struct position src_at;
	struct pitched src;
	struct array *dst_array;
	struct position dst_at;
	struct pitched dst;
	struct extent extent;
	int kind;
};

/* A two-dimensional copy of the driver API. */
struct copy_2d {
	size_t src_x, src_y;
	int src_type;
	const void *src_host;
	void *src_device;
	struct array *src_array;
	size_t src_pitch;
	size_t dst_x, dst_y;
	int dst_type;
	void *dst_host;
	void *dst_device;
	struct array *dst_array;
	size_t dst_pitch;
	size_t width, height;
};

struct location {
	int type, id;
};

struct access {
	struct location location;
	int flags;
};

struct pool_props {
	int type, handle_types;
	struct location location;
	void *security;
	unsigned char reserved[64];
};

#if DHI_ROCM >= 6
struct alloc_props {
	int type, handle_type;
	struct location location;
	void *meta;
	unsigned char compression, rdma;
	unsigned short usage;
};
#else
struct alloc_props {
	unsigned char compression;
	struct location location;
	int handle_type, type;
	unsigned short usage;
	void *meta;
};
#endif

struct alloc_node {
	struct pool_props props;
	const struct access *accesses;
	size_t n_accesses, bytes;
	void *p;
};

typedef void (*host_fn)(void *user);
typedef void (*stream_fn)(struct stream *stream, int status, void *user);

struct semaphore_handle {
	int type;
	union {
		int fd;
		void *two[2];
	} handle;
	unsigned flags;
};

struct semaphore_value {
	unsigned long long value;
	unsigned more[32];
};

struct semaphores_params {
	struct semaphore *const *semaphores;
	const struct semaphore_value *values;
	unsigned n;
};

struct host_params {
	host_fn fn;
	void *user;
};

struct kernel_params {
	struct dim3 block;
	void **extra;
	void *function;
	struct dim3 grid;
	void **params;
	unsigned shared;
};

struct set_params {
	void *dst;
	unsigned element;
	size_t height, pitch;
	unsigned value;
	size_t width;
};

struct fat_binary {
	unsigned magic, version;
	const void *binary;
	void *unused;
};
#define HIP_FAT_MAGIC 0x48495046U

/* A function that returns this is always allowed, and does not change the last error. */
typedef int hip_plain;
