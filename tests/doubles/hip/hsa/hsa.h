/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The part of ROCr's ABI that is needed here, declared independently. The vendor's
 * handles are structures of one word, which are passed like that word. */

typedef uint64_t hsa_agent, hsa_signal, hsa_pool, hsa_handle;

enum {
	HSA_OK = 0,
	HSA_INVALID_POOL = 40,
	HSA_CU_MASK_REDUCED = 44,
	HSA_ERROR = 0x1000,
	HSA_INVALID_ARGUMENT = 0x1001,
	HSA_INVALID_QUEUE_CREATION = 0x1002,
	HSA_INVALID_ALLOCATION = 0x1003,
	HSA_INVALID_AGENT = 0x1004,
	HSA_INVALID_REGION = 0x1005,
	HSA_INVALID_SIGNAL = 0x1006,
	HSA_INVALID_QUEUE = 0x1007,
	HSA_OUT_OF_RESOURCES = 0x1008,
	HSA_INVALID_PACKET = 0x1009,
	HSA_NOT_INITIALIZED = 0x100b,
	HSA_INVALID_CODE = 0x1010,
	HSA_INVALID_EXECUTABLE = 0x1011,
	HSA_FROZEN = 0x1012,
	HSA_INVALID_SYMBOL_NAME = 0x1013,
	HSA_INVALID_SYMBOL = 0x1019,
};

enum { HSA_DEVICE_CPU, HSA_DEVICE_GPU };
enum { HSA_QUEUE_MULTI, HSA_QUEUE_SINGLE, HSA_QUEUE_COOPERATIVE };
enum { HSA_PRIORITY_LOW, HSA_PRIORITY_NORMAL, HSA_PRIORITY_HIGH };
enum { HSA_EQ, HSA_NE, HSA_LT, HSA_GTE };

enum hsa_agent_info {
	HSA_AGENT_NAME = 0,
	HSA_AGENT_VENDOR = 1,
	HSA_AGENT_FEATURE = 2,
	HSA_AGENT_PROFILE = 4,
	HSA_AGENT_WAVEFRONT = 6,
	HSA_AGENT_WORKGROUP_MAX_DIM = 7,
	HSA_AGENT_WORKGROUP_MAX = 8,
	HSA_AGENT_GRID_MAX_DIM = 9,
	HSA_AGENT_GRID_MAX = 10,
	HSA_AGENT_QUEUES_MAX = 12,
	HSA_AGENT_QUEUE_MIN = 13,
	HSA_AGENT_QUEUE_MAX = 14,
	HSA_AGENT_QUEUE_TYPE = 15,
	HSA_AGENT_NODE = 16,
	HSA_AGENT_DEVICE = 17,
	HSA_AGENT_CACHES = 18,
	HSA_AGENT_ISA = 19,
	HSA_AGENT_EXTENSIONS = 20,
	HSA_AGENT_VERSION_MAJOR = 21,
	HSA_AGENT_VERSION_MINOR = 22,
	HSA_AMD_CHIP = 0xa000,
	HSA_AMD_CACHELINE = 0xa001,
	HSA_AMD_UNITS = 0xa002,
	HSA_AMD_CLOCK = 0xa003,
	HSA_AMD_NODE = 0xa004,
	HSA_AMD_BDF = 0xa006,
	HSA_AMD_MEMORY_WIDTH = 0xa007,
	HSA_AMD_MEMORY_CLOCK = 0xa008,
	HSA_AMD_PRODUCT = 0xa009,
	HSA_AMD_WAVES = 0xa00a,
	HSA_AMD_SIMDS = 0xa00b,
	HSA_AMD_ENGINES = 0xa00c,
	HSA_AMD_ARRAYS = 0xa00d,
	HSA_AMD_DOMAIN = 0xa00f,
	HSA_AMD_COOPERATIVE_QUEUES = 0xa010,
	HSA_AMD_UUID = 0xa011,
	HSA_AMD_ASIC_REVISION = 0xa012,
	HSA_AMD_SVM_DIRECT = 0xa013,
	HSA_AMD_COOPERATIVE_UNITS = 0xa014,
	HSA_AMD_MEMORY_AVAILABLE = 0xa015, /* since 5.3 */
};

enum hsa_pool_flag {
	HSA_POOL_KERNARG = 1,
	HSA_POOL_FINE = 2,
	HSA_POOL_COARSE = 4,
};

enum hsa_pool_info {
	HSA_POOL_SEGMENT = 0,
	HSA_POOL_FLAGS = 1,
	HSA_POOL_SIZE = 2,
	HSA_POOL_ALLOC_ALLOWED = 5,
	HSA_POOL_GRANULE = 6,
	HSA_POOL_ALIGNMENT = 7,
	HSA_POOL_ACCESSIBLE_BY_ALL = 15,
	HSA_POOL_ALLOC_MAX = 16,
};

enum hsa_symbol_info {
	HSA_SYMBOL_TYPE = 0,
	HSA_SYMBOL_NAME_LENGTH = 1,
	HSA_SYMBOL_NAME = 2,
	HSA_SYMBOL_KERNARG_BYTES = 11,
	HSA_SYMBOL_KERNARG_ALIGNMENT = 12,
	HSA_SYMBOL_GROUP_BYTES = 13,
	HSA_SYMBOL_PRIVATE_BYTES = 14,
	HSA_SYMBOL_KERNEL_OBJECT = 22,
};

enum {
	HSA_POINTER_UNKNOWN,
	HSA_POINTER_HSA,
	HSA_POINTER_LOCKED,
	HSA_POINTER_GRAPHICS,
	HSA_POINTER_IPC,
};

struct hsa_queue {
	uint32_t type, features;
	void *base_address;
	hsa_signal doorbell;
	uint32_t size, reserved;
	uint64_t id;
};

/* The memory behind the queue, which ROCr writes and the GPU reads. */
struct hsa_amd_queue {
	struct hsa_queue queue;
	uint32_t reserved1[4];
	_Atomic uint64_t write_index;
	uint32_t apertures[4];
	uint64_t legacy_doorbell;
	uint32_t legacy_lock, reserved2[9];
	_Atomic uint64_t read_index;
	uint32_t reserved3[30];
};

enum hsa_packet_type {
	HSA_PACKET_VENDOR,
	HSA_PACKET_INVALID,
	HSA_PACKET_DISPATCH,
	HSA_PACKET_BARRIER_AND,
	HSA_PACKET_AGENT_DISPATCH,
	HSA_PACKET_BARRIER_OR,
};

#define HSA_PACKET_BARRIER_BIT 0x100
#define HSA_PACKET_FENCES (2U << 9 | 2U << 11) /* of system scope, both */

struct hsa_dispatch {
	uint16_t header, setup;
	uint16_t workgroup[3], reserved0;
	uint32_t grid[3];
	uint32_t private_bytes, group_bytes;
	uint64_t kernel_object;
	void *kernarg;
	uint64_t reserved2;
	hsa_signal completion;
};

struct hsa_barrier {
	uint16_t header, reserved0;
	uint32_t reserved1;
	hsa_signal deps[5];
	uint64_t reserved2;
	hsa_signal completion;
};

/* The vendor's packet of format 2: waits for a value. */
struct hsa_barrier_value {
	uint16_t header;
	uint8_t format, reserved;
	uint32_t reserved0;
	hsa_signal signal;
	int64_t value, mask;
	uint32_t condition, reserved1;
	uint64_t reserved2, reserved3;
	hsa_signal completion;
};

union hsa_packet {
	_Atomic uint16_t header;
	struct hsa_dispatch dispatch;
	struct hsa_barrier barrier;
	struct hsa_barrier_value value;
	char bytes[64];
};

struct hsa_dim3 {
	uint32_t x, y, z;
};

struct hsa_pitched {
	void *base;
	size_t pitch, slice;
};

struct hsa_ipc {
	uint32_t handle[8];
};

struct hsa_pointer_info {
	uint32_t size, type;
	void *agent_base, *host_base;
	size_t bytes;
	void *user;
	hsa_agent owner;
	uint32_t global_flags;
};

struct hsa_time {
	uint64_t start, end;
};

struct hsa_access {
	uint32_t permissions;
	hsa_agent agent;
};

typedef int (*hsa_visit)(hsa_handle thing, void *user);
typedef void (*hsa_queue_error)(int status, struct hsa_queue *queue, void *user);
typedef bool (*hsa_signal_fn)(int64_t value, void *user);
typedef void (*hsa_fn)(void *user);
