/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The part of the CUDA driver API's ABI that the gate needs, on 64-bit systems.  Handles
 * are void pointers, enums are int.  Source: cuda.h of the toolkits 12.9 and 13.0. */

enum {
	CLV_CUDA_SUCCESS = 0,
	CLV_CUDA_INVALID_VALUE = 1,
	CLV_CUDA_OUT_OF_MEMORY = 2,
	CLV_CUDA_NO_DEVICE = 100,
	CLV_CUDA_NOT_FOUND = 500,
	CLV_CUDA_NOT_READY = 600,
	CLV_CUDA_NOT_PERMITTED = 800,
	CLV_CUDA_NOT_SUPPORTED = 801,
};

#define CLV_CUDA_STREAM_LEGACY ((void *)1) /* a special value, no real handle */

#define CLV_CUDA_EVENT_DISABLE_TIMING 2u

#define CLV_CUDA_CAPTURE_MODE_RELAXED 2
#define CLV_CUDA_CAPTURE_STATUS_NONE 0

#define CLV_CUDA_DEVICE_HOST (-1) /* as a location of managed memory */
#define CLV_CUDA_ADVISE_PREFERRED_LOCATION 3
#define CLV_CUDA_ADVISE_ACCESSED_BY 5
#define CLV_CUDA_ATTACH_GLOBAL 1u
#define CLV_CUDA_ATTRIBUTE_CONCURRENT_MANAGED 89
#define CLV_CUDA_STREAM_NON_BLOCKING 1u

#define CLV_CUDA_POINTER_MEMORY_TYPE 2
#define CLV_CUDA_POINTER_IS_MANAGED 8
#define CLV_CUDA_MEMORY_TYPE_HOST 1
#define CLV_CUDA_MEMORY_TYPE_DEVICE 2

#define CLV_CUDA_LOCATION_DEVICE 1
struct clv_cuda_location {
	int type;
	int id;
};

/* CUlaunchConfig */
struct clv_cuda_launch {
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared_bytes;
	void *stream;
	void *attributes;
	uint32_t n_attributes;
};

/* CUDA_LAUNCH_PARAMS */
struct clv_cuda_launch_of_several {
	void *function;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared_bytes;
	void *stream;
	void **parameters;
};

struct clv_cuda_copy_end_2d {
	size_t x_bytes, y;
	int memory_type;
	void *host;
	uint64_t device;
	void *array;
	size_t pitch;
};

/* CUDA_MEMCPY2D of version 2 */
struct clv_cuda_copy_2d {
	struct clv_cuda_copy_end_2d from, to;
	size_t width_bytes, height;
};

struct clv_cuda_copy_end_3d {
	size_t x_bytes, y, z, level;
	int memory_type;
	void *host;
	uint64_t device;
	void *array;
	void *context; /* of a copy between peers; otherwise reserved */
	size_t pitch, height;
};

/* CUDA_MEMCPY3D of version 2, and CUDA_MEMCPY3D_PEER */
struct clv_cuda_copy_3d {
	struct clv_cuda_copy_end_3d from, to;
	size_t width_bytes, height, depth;
};

/* CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR of version 2 */
struct clv_cuda_array_2d {
	size_t width, height;
	int format;
	uint32_t n_channels;
};

struct clv_cuda_array_3d {
	size_t width, height, depth;
	int format;
	uint32_t n_channels;
	uint32_t flags;
};

#define CLV_CUDA_ARRAY_LAYERED 0x01u
#define CLV_CUDA_ARRAY_SPARSE 0x40u
#define CLV_CUDA_ARRAY_DEFERRED 0x80u /* its memory is mapped by hand */

#define CLV_CUDA_HANDLE_FILE 1   /* CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR */
#define CLV_CUDA_HANDLE_FABRIC 8 /* CU_MEM_HANDLE_TYPE_FABRIC */

/* CUmemAllocationProp */
struct clv_cuda_memory_properties {
	int type, handle_types;
	struct clv_cuda_location location;
	void *reserved;
	uint8_t flags[8];
};

/* CUmemPoolProps */
struct clv_cuda_pool_properties {
	int type, handle_types;
	struct clv_cuda_location location;
	void *reserved;
	size_t n_bytes_max;
	uint16_t usage;
	uint8_t reserved_bytes[54];
};

#define CLV_CUDA_ALLOCATION_PINNED 1 /* a type; also of the host */

#define CLV_CUDA_POOL_RELEASE_THRESHOLD 4
#define CLV_CUDA_POOL_RESERVED_BYTES 5  /* CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT */
#define CLV_CUDA_POOL_USED_BYTES 7      /* CU_MEMPOOL_ATTR_USED_MEM_CURRENT */
#define CLV_CUDA_GRAPH_USED_BYTES 0     /* CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT */
#define CLV_CUDA_GRAPH_RESERVED_BYTES 2 /* CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT */

#define CLV_CUDA_ATTRIBUTE_MULTIPROCESSORS 16

#define CLV_CUDA_GREEN_DEFAULT_STREAM 1u

/* CUexecAffinityParam.  Its only type is a number of multiprocessors. */
#define CLV_CUDA_AFFINITY_MULTIPROCESSORS 0
struct clv_cuda_affinity {
	int type;
	uint32_t count;
};

/* CUdevResource of multiprocessors. */
#define CLV_CUDA_RESOURCE_MULTIPROCESSORS 1
struct clv_cuda_resource {
	int type;
	uint8_t inner[92];
	uint32_t count;
	uint8_t more[44];
};

#define CLV_CUDA_LIMIT_PRINTF 1 /* CU_LIMIT_PRINTF_FIFO_SIZE */
#define CLV_CUDA_LIMIT_HEAP 2   /* CU_LIMIT_MALLOC_HEAP_SIZE */

#define CLV_CUDA_NODE_KERNEL 0
#define CLV_CUDA_NODE_GRAPH 4
#define CLV_CUDA_NODE_SEMAPHORE_WAIT 9
#define CLV_CUDA_NODE_ALLOCATE 10

/* The size of CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS. */
#define CLV_CUDA_SEMAPHORE_VALUE_BYTES 144

/* CUDA_MEM_ALLOC_NODE_PARAMS */
struct clv_cuda_node_allocation {
	struct clv_cuda_pool_properties pool;
	const void *access;
	size_t n_access;
	size_t n_bytes;
	uint64_t address;
};

/* CUipcEventHandle, which is passed by value. */
struct clv_cuda_ipc {
	char bytes[64];
};

/* CUDA_EXTERNAL_MEMORY_HANDLE_DESC */
struct clv_cuda_external_memory {
	int type;
	union {
		int fd;
		struct {
			void *handle;
			const void *name;
		} windows;
		const void *object;
	} handle;
	unsigned long long n_bytes;
	uint32_t flags;
	uint32_t reserved[16];
};

#define CLV_CUDA_PROC_PER_THREAD UINT64_C(2) /* a flag of cuGetProcAddress */
#define CLV_CUDA_PROC_SYMBOL_NOT_FOUND 1
