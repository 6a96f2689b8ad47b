/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "info.h"
#include "knobs.h"
#include "object.h"
#include <string.h>

/* The properties of the double's platform and devices: one row per query. The extensions
 * listed here are those that the double really has. */

/* clang-format off */
#define EXTENSION(name) { CL_MAKE_VERSION(1, 0, 0), name }
static const cl_name_version extensions[] = {
	EXTENSION("cl_khr_icd"),
	EXTENSION("cl_khr_create_command_queue"),
	EXTENSION("cl_khr_priority_hints"),
	EXTENSION("cl_khr_il_program"),
	EXTENSION("cl_khr_byte_addressable_store"),
	EXTENSION("cl_khr_global_int32_base_atomics"),
	EXTENSION("cl_khr_global_int32_extended_atomics"),
	EXTENSION("cl_khr_local_int32_base_atomics"),
	EXTENSION("cl_khr_local_int32_extended_atomics"),
	EXTENSION("cl_khr_fp64"),
	EXTENSION("cl_khr_3d_image_writes"),
	EXTENSION("cl_khr_image2d_from_buffer"),
	EXTENSION("cl_khr_command_buffer"),
	EXTENSION("cl_ext_device_fission"),
	EXTENSION("cl_intel_unified_shared_memory"),
};
#define EXTENSION_NAMES \
	"cl_khr_icd cl_khr_create_command_queue cl_khr_priority_hints cl_khr_il_program " \
	"cl_khr_byte_addressable_store cl_khr_global_int32_base_atomics " \
	"cl_khr_global_int32_extended_atomics cl_khr_local_int32_base_atomics " \
	"cl_khr_local_int32_extended_atomics cl_khr_fp64 cl_khr_3d_image_writes " \
	"cl_khr_image2d_from_buffer cl_khr_command_buffer cl_ext_device_fission " \
	"cl_intel_unified_shared_memory"

static const cl_name_version c_versions[] = {
	{ CL_MAKE_VERSION(1, 0, 0), "OpenCL C" }, { CL_MAKE_VERSION(1, 1, 0), "OpenCL C" },
	{ CL_MAKE_VERSION(1, 2, 0), "OpenCL C" }, { CL_MAKE_VERSION(3, 0, 0), "OpenCL C" },
};
static const cl_name_version c_features[] = {
	{ CL_MAKE_VERSION(3, 0, 0), "__opencl_c_images" },
	{ CL_MAKE_VERSION(3, 0, 0), "__opencl_c_3d_image_writes" },
	{ CL_MAKE_VERSION(3, 0, 0), "__opencl_c_pipes" },
	{ CL_MAKE_VERSION(3, 0, 0), "__opencl_c_int64" },
	{ CL_MAKE_VERSION(3, 0, 0), "__opencl_c_fp64" },
};
static const cl_name_version ils[] = { { CL_MAKE_VERSION(1, 2, 0), "SPIR-V" } };
static const cl_name_version builtins[] = {
	{ CL_MAKE_VERSION(1, 0, 0), "nop" }, { CL_MAKE_VERSION(1, 0, 0), "spin" },
};

#define ARRAY(param_, array) \
	{ .param = (param_), .kind = DCL_INFO_CONST, .bytes = sizeof(array), .data = (array) }

static const struct dcl_info platform_info[] = {
	DCL_T(CL_PLATFORM_PROFILE, "FULL_PROFILE"),
	DCL_T(CL_PLATFORM_VERSION, "OpenCL 3.0 cleave double"),
	DCL_C(CL_PLATFORM_NUMERIC_VERSION, cl_version, CL_MAKE_VERSION(3, 0, 0)),
	DCL_T(CL_PLATFORM_NAME, "cleave double"),
	DCL_T(CL_PLATFORM_VENDOR, "cleave"),
	DCL_T(CL_PLATFORM_EXTENSIONS, EXTENSION_NAMES),
	ARRAY(CL_PLATFORM_EXTENSIONS_WITH_VERSION, extensions),
	DCL_C(CL_PLATFORM_HOST_TIMER_RESOLUTION, cl_ulong, 1),
	DCL_T(CL_PLATFORM_ICD_SUFFIX_KHR, "CLVD"),
};

static uint64_t platform_of(const void *object)
{
	return (uint64_t)(uintptr_t)&dcl_platform;
}

static uint64_t cache_bytes(const void *object)
{
	return 1 << 20;
}

static uint64_t image_buffer_pixels(const void *object)
{
	const struct _cl_device_id *device = object;

	return device->max_alloc_bytes / 16;
}

static uint64_t constant_buffer_bytes(const void *object)
{
	const struct _cl_device_id *device = object;

	return device->max_alloc_bytes < 65536 ? device->max_alloc_bytes : 65536;
}

#define WIDTH(type, n) \
	DCL_C(CL_DEVICE_PREFERRED_VECTOR_WIDTH_##type, cl_uint, n), \
	DCL_C(CL_DEVICE_NATIVE_VECTOR_WIDTH_##type, cl_uint, n)
#define USM_ACCESS \
	(CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL | CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL)

static const struct dcl_info device_info[] = {
	DCL_C(CL_DEVICE_TYPE, cl_device_type, CL_DEVICE_TYPE_GPU),
	DCL_C(CL_DEVICE_VENDOR_ID, cl_uint, 0xc1ea),
	DCL_F(CL_DEVICE_MAX_COMPUTE_UNITS, struct _cl_device_id, compute_units),
	DCL_C(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, cl_uint, 3),
	DCL_C(CL_DEVICE_MAX_WORK_GROUP_SIZE, size_t, 1024),
	{ .param = CL_DEVICE_MAX_WORK_ITEM_SIZES, .kind = DCL_INFO_CONST,
	  .bytes = 3 * sizeof(size_t), .data = (const size_t[3]){ 1024, 1024, 64 } },
	WIDTH(CHAR, 4), WIDTH(SHORT, 2), WIDTH(INT, 1), WIDTH(LONG, 1), WIDTH(FLOAT, 1),
	WIDTH(DOUBLE, 1), WIDTH(HALF, 0),
	DCL_C(CL_DEVICE_MAX_CLOCK_FREQUENCY, cl_uint, 1000),
	DCL_C(CL_DEVICE_ADDRESS_BITS, cl_uint, 64),
	DCL_F(CL_DEVICE_MAX_MEM_ALLOC_SIZE, struct _cl_device_id, max_alloc_bytes),
	DCL_F(CL_DEVICE_GLOBAL_MEM_SIZE, struct _cl_device_id, mem_bytes),
	DCL_C(CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, cl_device_mem_cache_type, CL_READ_WRITE_CACHE),
	DCL_C(CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, cl_uint, 64),
	DCL_U(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, cl_ulong, cache_bytes),
	DCL_C(CL_DEVICE_IMAGE_SUPPORT, cl_bool, CL_TRUE),
	DCL_C(CL_DEVICE_MAX_READ_IMAGE_ARGS, cl_uint, 128),
	DCL_C(CL_DEVICE_MAX_WRITE_IMAGE_ARGS, cl_uint, 64),
	DCL_C(CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS, cl_uint, 64),
	DCL_C(CL_DEVICE_IMAGE2D_MAX_WIDTH, size_t, DCL_IMAGE_MAX_2D),
	DCL_C(CL_DEVICE_IMAGE2D_MAX_HEIGHT, size_t, DCL_IMAGE_MAX_2D),
	DCL_C(CL_DEVICE_IMAGE3D_MAX_WIDTH, size_t, DCL_IMAGE_MAX_3D),
	DCL_C(CL_DEVICE_IMAGE3D_MAX_HEIGHT, size_t, DCL_IMAGE_MAX_3D),
	DCL_C(CL_DEVICE_IMAGE3D_MAX_DEPTH, size_t, DCL_IMAGE_MAX_3D),
	DCL_U(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, size_t, image_buffer_pixels),
	DCL_C(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, size_t, DCL_IMAGE_MAX_ARRAY),
	DCL_C(CL_DEVICE_IMAGE_PITCH_ALIGNMENT, cl_uint, 1),
	DCL_C(CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, cl_uint, 1),
	DCL_C(CL_DEVICE_MAX_SAMPLERS, cl_uint, 16),
	DCL_C(CL_DEVICE_MAX_PARAMETER_SIZE, size_t, 4096),
	DCL_C(CL_DEVICE_MEM_BASE_ADDR_ALIGN, cl_uint, DCL_MEM_ALIGN_BYTES * 8),
	DCL_C(CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, cl_uint, DCL_MEM_ALIGN_BYTES),
	DCL_C(CL_DEVICE_SINGLE_FP_CONFIG, cl_device_fp_config,
		CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_FMA),
	DCL_C(CL_DEVICE_DOUBLE_FP_CONFIG, cl_device_fp_config,
		CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_ROUND_TO_ZERO |
		CL_FP_ROUND_TO_INF | CL_FP_FMA | CL_FP_DENORM),
	DCL_C(CL_DEVICE_HALF_FP_CONFIG, cl_device_fp_config, 0),
	DCL_U(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, cl_ulong, constant_buffer_bytes),
	DCL_C(CL_DEVICE_MAX_CONSTANT_ARGS, cl_uint, 8),
	DCL_C(CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, size_t, 0),
	DCL_C(CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE, size_t, 0),
	DCL_C(CL_DEVICE_LOCAL_MEM_TYPE, cl_device_local_mem_type, CL_LOCAL),
	DCL_C(CL_DEVICE_LOCAL_MEM_SIZE, cl_ulong, DCL_LOCAL_BYTES),
	DCL_C(CL_DEVICE_ERROR_CORRECTION_SUPPORT, cl_bool, CL_FALSE),
	DCL_C(CL_DEVICE_HOST_UNIFIED_MEMORY, cl_bool, CL_FALSE),
	DCL_C(CL_DEVICE_PROFILING_TIMER_RESOLUTION, size_t, 1),
	DCL_C(CL_DEVICE_ENDIAN_LITTLE, cl_bool, CL_TRUE),
	DCL_C(CL_DEVICE_AVAILABLE, cl_bool, CL_TRUE),
	DCL_C(CL_DEVICE_COMPILER_AVAILABLE, cl_bool, CL_TRUE),
	DCL_C(CL_DEVICE_LINKER_AVAILABLE, cl_bool, CL_TRUE),
	DCL_C(CL_DEVICE_EXECUTION_CAPABILITIES, cl_device_exec_capabilities,
		CL_EXEC_KERNEL | CL_EXEC_NATIVE_KERNEL),
	DCL_C(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, cl_command_queue_properties,
		CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE),
	DCL_C(CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES, cl_command_queue_properties, 0),
	DCL_C(CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE, cl_uint, 0),
	DCL_C(CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE, cl_uint, 0),
	DCL_C(CL_DEVICE_MAX_ON_DEVICE_QUEUES, cl_uint, 0),
	DCL_C(CL_DEVICE_MAX_ON_DEVICE_EVENTS, cl_uint, 0),
	DCL_C(CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES, cl_device_device_enqueue_capabilities, 0),
	DCL_T(CL_DEVICE_BUILT_IN_KERNELS, "nop;spin"),
	ARRAY(CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION, builtins),
	DCL_U(CL_DEVICE_PLATFORM, cl_platform_id, platform_of),
	DCL_S(CL_DEVICE_NAME, struct _cl_device_id, name),
	DCL_T(CL_DEVICE_VENDOR, "cleave"),
	DCL_T(CL_DRIVER_VERSION, "1.0"),
	DCL_T(CL_DEVICE_PROFILE, "FULL_PROFILE"),
	DCL_T(CL_DEVICE_VERSION, "OpenCL 3.0 cleave double"),
	DCL_C(CL_DEVICE_NUMERIC_VERSION, cl_version, CL_MAKE_VERSION(3, 0, 0)),
	DCL_T(CL_DEVICE_OPENCL_C_VERSION, "OpenCL C 1.2 cleave double"),
	ARRAY(CL_DEVICE_OPENCL_C_ALL_VERSIONS, c_versions),
	ARRAY(CL_DEVICE_OPENCL_C_FEATURES, c_features),
	DCL_T(CL_DEVICE_EXTENSIONS, EXTENSION_NAMES),
	ARRAY(CL_DEVICE_EXTENSIONS_WITH_VERSION, extensions),
	DCL_T(CL_DEVICE_IL_VERSION, "SPIR-V_1.2"),
	ARRAY(CL_DEVICE_ILS_WITH_VERSION, ils),
	DCL_T(CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED, ""),
	DCL_C(CL_DEVICE_PRINTF_BUFFER_SIZE, size_t, 1 << 20),
	DCL_C(CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, cl_bool, CL_TRUE),
	DCL_F(CL_DEVICE_PARENT_DEVICE, struct _cl_device_id, parent),
	DCL_F(CL_DEVICE_PARTITION_MAX_SUB_DEVICES, struct _cl_device_id, compute_units),
	{ .param = CL_DEVICE_PARTITION_PROPERTIES, .kind = DCL_INFO_CONST,
	  .bytes = 2 * sizeof(cl_device_partition_property),
	  .data = (const cl_device_partition_property[2]){
		CL_DEVICE_PARTITION_EQUALLY, CL_DEVICE_PARTITION_BY_COUNTS } },
	DCL_C(CL_DEVICE_PARTITION_AFFINITY_DOMAIN, cl_device_affinity_domain, 0),
	DCL_A(CL_DEVICE_PARTITION_TYPE, struct _cl_device_id, partition, partition_bytes),
	DCL_REFS(CL_DEVICE_REFERENCE_COUNT),
	DCL_F(CL_DEVICE_PARENT_DEVICE_EXT, struct _cl_device_id, parent),
	DCL_REFS(CL_DEVICE_REFERENCE_COUNT_EXT),
	{ .param = CL_DEVICE_PARTITION_TYPES_EXT, .kind = DCL_INFO_CONST,
	  .bytes = 2 * sizeof(cl_device_partition_property_ext),
	  .data = (const cl_device_partition_property_ext[2]){
		CL_DEVICE_PARTITION_EQUALLY_EXT, CL_DEVICE_PARTITION_BY_COUNTS_EXT } },
	DCL_NONE(CL_DEVICE_AFFINITY_DOMAINS_EXT),
	DCL_C(CL_DEVICE_SVM_CAPABILITIES, cl_device_svm_capabilities,
		CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | CL_DEVICE_SVM_FINE_GRAIN_BUFFER),
	DCL_C(CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT, cl_uint, 0),
	DCL_C(CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT, cl_uint, 0),
	DCL_C(CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT, cl_uint, 0),
	DCL_C(CL_DEVICE_MAX_NUM_SUB_GROUPS, cl_uint, 0),
	DCL_C(CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS, cl_bool, CL_FALSE),
	DCL_C(CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, cl_device_atomic_capabilities,
		CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP),
	DCL_C(CL_DEVICE_ATOMIC_FENCE_CAPABILITIES, cl_device_atomic_capabilities,
		CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_ORDER_ACQ_REL |
		CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP),
	DCL_C(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, cl_bool, CL_TRUE),
	DCL_C(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, size_t, 32),
	DCL_C(CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT, cl_bool, CL_FALSE),
	DCL_C(CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT, cl_bool, CL_FALSE),
	DCL_C(CL_DEVICE_PIPE_SUPPORT, cl_bool, CL_TRUE),
	DCL_C(CL_DEVICE_MAX_PIPE_ARGS, cl_uint, 16),
	DCL_C(CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS, cl_uint, 1),
	DCL_C(CL_DEVICE_PIPE_MAX_PACKET_SIZE, cl_uint, DCL_PIPE_MAX_PACKET_BYTES),
	DCL_C(CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR,
		cl_device_command_buffer_capabilities_khr,
		CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR |
		CL_COMMAND_BUFFER_CAPABILITY_OUT_OF_ORDER_KHR),
	DCL_C(CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR,
		cl_command_queue_properties, 0),
	DCL_C(CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL, cl_bitfield, USM_ACCESS),
	DCL_C(CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL, cl_bitfield, USM_ACCESS),
	DCL_C(CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL, cl_bitfield, USM_ACCESS),
	DCL_C(CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL, cl_bitfield, 0),
	DCL_C(CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL, cl_bitfield, 0),
};
/* clang-format on */

cl_int dcl_platform_query(cl_uint param, size_t bytes, void *ret, size_t *ret_bytes)
{
	static const char other[] = "rusticl";

	if (dcl_knobs.loose_finish && param == CL_PLATFORM_NAME)
		return dcl_info_reply(other, sizeof(other), bytes, ret, ret_bytes);
	return dcl_info_get(platform_info, DCL_ROWS(platform_info), &dcl_platform, param,
		bytes, ret, ret_bytes);
}

cl_int dcl_device_query(
	cl_device_id device, cl_uint param, size_t bytes, void *ret, size_t *ret_bytes)
{
	return dcl_info_get(
		device_info, DCL_ROWS(device_info), device, param, bytes, ret, ret_bytes);
}
