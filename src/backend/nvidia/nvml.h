/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Declarations of the part of NVML's ABI that the backend calls; the driver ships the
 * library without a header.  Layouts and numbers are those of NVIDIA's public nvml.h (API
 * version 13); the assertions check the layouts of x86-64. */

/* Handles.  The library owns what they point to. */
struct clv_nvml_device;
struct clv_nvml_gpu_instance;
struct clv_nvml_compute_instance;
struct clv_nvml_event_set;

enum clv_nvml_code {
	CLV_NVML_SUCCESS = 0,
	CLV_NVML_UNINITIALIZED = 1,
	CLV_NVML_INVALID_ARGUMENT = 2,
	CLV_NVML_NOT_SUPPORTED = 3,
	CLV_NVML_NO_PERMISSION = 4,
	CLV_NVML_NOT_FOUND = 6,
	CLV_NVML_INSUFFICIENT_SIZE = 7,
	CLV_NVML_INSUFFICIENT_POWER = 8,
	CLV_NVML_DRIVER_NOT_LOADED = 9,
	CLV_NVML_TIMEOUT = 10,
	CLV_NVML_IRQ_ISSUE = 11,
	CLV_NVML_LIBRARY_NOT_FOUND = 12,
	CLV_NVML_FUNCTION_NOT_FOUND = 13,
	CLV_NVML_CORRUPTED_INFOROM = 14,
	CLV_NVML_GPU_IS_LOST = 15,
	CLV_NVML_RESET_REQUIRED = 16,
	CLV_NVML_OPERATING_SYSTEM = 17,
	CLV_NVML_LIB_RM_VERSION_MISMATCH = 18,
	CLV_NVML_IN_USE = 19,
	CLV_NVML_MEMORY = 20,
	CLV_NVML_NO_DATA = 21,
	CLV_NVML_VGPU_ECC_NOT_SUPPORTED = 22,
	CLV_NVML_INSUFFICIENT_RESOURCES = 23,
	CLV_NVML_ARGUMENT_VERSION_MISMATCH = 25,
	CLV_NVML_DEPRECATED = 26,
	CLV_NVML_NOT_READY = 27,
	CLV_NVML_GPU_NOT_FOUND = 28,
	CLV_NVML_INVALID_STATE = 29,
	CLV_NVML_RESET_TYPE_NOT_SUPPORTED = 30,
	CLV_NVML_UNKNOWN = 999,
};

#define CLV_NVML_DRIVER_VERSION_BYTES 80u
#define CLV_NVML_UUID_BYTES 96u
#define CLV_NVML_NAME_BYTES 96u
#define CLV_NVML_VGPU_NAME_BYTES 64u

/* nvmlDeviceArchitecture_t. */
enum clv_nvml_architecture {
	CLV_NVML_VOLTA = 5,
	CLV_NVML_TURING = 6,
	CLV_NVML_AMPERE = 7,
	CLV_NVML_ADA = 8,
	CLV_NVML_HOPPER = 9,
	CLV_NVML_BLACKWELL = 10,
};

struct clv_nvml_pci {
	char bus_id_legacy[16];
	uint32_t domain;
	uint32_t bus;
	uint32_t device;
	uint32_t device_id;
	uint32_t subsystem_id;
	char bus_id[32]; /* "00000000:3B:00.0" */
};
static_assert(sizeof(struct clv_nvml_pci) == 68, "nvmlPciInfo_t");
static_assert(offsetof(struct clv_nvml_pci, bus_id) == 36, "nvmlPciInfo_t");

struct clv_nvml_memory {
	uint64_t total;
	uint64_t free;
	uint64_t used;
};
static_assert(sizeof(struct clv_nvml_memory) == 24, "nvmlMemory_t");

/* nvmlGetMemoryLimits_v1_t, of which nvmlSetMemoryLimits_v1_t is the first three
 * members. */
struct clv_nvml_limits {
	const char *cgroup; /* the full path of its folder */
	uint64_t soft, hard, used;
};
static_assert(sizeof(struct clv_nvml_limits) == 32, "nvmlGetMemoryLimits_v1_t");

/* A driver writes entries of one of three sizes: see processes.c. */
#define CLV_NVML_NO_INSTANCE UINT32_C(0xffffffff)

struct clv_nvml_process {
	uint32_t pid;
	uint64_t used_bytes;
	uint32_t gpu_instance;     /* or CLV_NVML_NO_INSTANCE */
	uint32_t compute_instance; /* or CLV_NVML_NO_INSTANCE */
};
static_assert(sizeof(struct clv_nvml_process) == 24, "nvmlProcessInfo_v2_t");
static_assert(offsetof(struct clv_nvml_process, gpu_instance) == 16, "as above");

/* A profile is queried by its index, NVML_GPU_INSTANCE_PROFILE_*; all other calls take
 * its id. */
struct clv_nvml_gpu_profile_v1 {
	uint32_t id;
	uint32_t is_p2p_supported;
	uint32_t slices;
	uint32_t instances;
	uint32_t multiprocessors;
	uint32_t engines[5]; /* copy, decoder, encoder, JPEG, optical flow */
	uint64_t memory_mib;
};
static_assert(sizeof(struct clv_nvml_gpu_profile_v1) == 48, "..ProfileInfo_t");
static_assert(offsetof(struct clv_nvml_gpu_profile_v1, memory_mib) == 40, "as above");

struct clv_nvml_gpu_profile_v2 {
	uint32_t version;
	uint32_t id;
	uint32_t is_p2p_supported;
	uint32_t slices;
	uint32_t instances;
	uint32_t multiprocessors;
	uint32_t engines[5];
	uint64_t memory_mib;
	char name[CLV_NVML_NAME_BYTES];
};
static_assert(sizeof(struct clv_nvml_gpu_profile_v2) == 152, "..ProfileInfo_v2_t");
static_assert(offsetof(struct clv_nvml_gpu_profile_v2, memory_mib) == 48, "as above");

struct clv_nvml_gpu_profile_v3 {
	uint32_t version;
	uint32_t id;
	uint32_t slices;
	uint32_t instances;
	uint32_t multiprocessors;
	uint32_t engines[5];
	uint64_t memory_mib;
	char name[CLV_NVML_NAME_BYTES];
	uint32_t capabilities;
};
static_assert(sizeof(struct clv_nvml_gpu_profile_v3) == 152, "..ProfileInfo_v3_t");
static_assert(offsetof(struct clv_nvml_gpu_profile_v3, memory_mib) == 40, "as above");
static_assert(offsetof(struct clv_nvml_gpu_profile_v3, capabilities) == 144, "as above");

/* The first word of a versioned struct: its size, and the version in the top byte. */
#define CLV_NVML_VERSION(type, number) ((uint32_t)(sizeof(type) | (number) << 24u))
#define CLV_NVML_GPU_PROFILE_V2 CLV_NVML_VERSION(struct clv_nvml_gpu_profile_v2, 2u)
#define CLV_NVML_GPU_PROFILE_V3 CLV_NVML_VERSION(struct clv_nvml_gpu_profile_v3, 3u)
static_assert(CLV_NVML_GPU_PROFILE_V2 == 0x02000098, "NVML_STRUCT_VERSION");
static_assert(CLV_NVML_GPU_PROFILE_V3 == 0x03000098, "NVML_STRUCT_VERSION");

/* Units: of a GPU instance, the GPU's memory slices; of a compute instance, the compute
 * slices of its GPU instance. */
struct clv_nvml_placement {
	uint32_t start;
	uint32_t size;
};
static_assert(sizeof(struct clv_nvml_placement) == 8, "nvmlGpuInstancePlacement_t");

struct clv_nvml_gpu_instance_info {
	struct clv_nvml_device *device;
	uint32_t id;
	uint32_t profile_id;
	struct clv_nvml_placement placement;
};
static_assert(sizeof(struct clv_nvml_gpu_instance_info) == 24, "nvmlGpuInstanceInfo_t");

/* NVML_COMPUTE_INSTANCE_PROFILE_COUNT and .._ENGINE_PROFILE_SHARED. */
#define CLV_NVML_COMPUTE_PROFILES 9u
#define CLV_NVML_SHARED_ENGINES 0u

struct clv_nvml_compute_profile {
	uint32_t id;
	uint32_t slices;
	uint32_t instances;
	uint32_t multiprocessors;
	uint32_t shared_engines[5];
};
static_assert(
	sizeof(struct clv_nvml_compute_profile) == 36, "..ComputeInstanceProfile..");

struct clv_nvml_compute_instance_info {
	struct clv_nvml_device *device;
	struct clv_nvml_gpu_instance *gpu_instance;
	uint32_t id;
	uint32_t profile_id;
	struct clv_nvml_placement placement;
};
static_assert(sizeof(struct clv_nvml_compute_instance_info) == 32, "..ComputeInstance..");

/* In percent. */
struct clv_nvml_utilization {
	uint32_t gpu;
	uint32_t memory;
};
static_assert(sizeof(struct clv_nvml_utilization) == 8, "nvmlUtilization_t");

/* The utilization of the GPU by a process in one sampling period, in percent. */
struct clv_nvml_process_utilization {
	uint32_t pid;
	uint64_t time_us;
	uint32_t compute;
	uint32_t memory;
	uint32_t encoder;
	uint32_t decoder;
};
static_assert(sizeof(struct clv_nvml_process_utilization) == 32,
	"nvmlProcessUtilizationSample_t");

#define CLV_NVML_TEMPERATURE_GPU 0u    /* nvmlTemperatureSensors_t */
#define CLV_NVML_ERROR_UNCORRECTED 1u  /* nvmlMemoryErrorType_t */
#define CLV_NVML_ECC_VOLATILE 0u       /* nvmlEccCounterType_t: since the driver's load */
#define CLV_NVML_EVENT_XID UINT64_C(8) /* nvmlEventTypeXidCriticalError */

struct clv_nvml_event {
	struct clv_nvml_device *device;
	uint64_t type;
	uint64_t data; /* the Xid */
	uint32_t gpu_instance;
	uint32_t compute_instance;
};
static_assert(sizeof(struct clv_nvml_event) == 32, "nvmlEventData_t");
