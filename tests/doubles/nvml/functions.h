/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "abi.h"

/* Every function of the library: name, parameters, arguments. A list for each driver
 * release that added functions; exports.c defines the symbols, and `dnv_f`, whose
 * prototype is declared below, carries out function `f`. */

/* clang-format off */
/* Functions that work before nvmlInit. */
#define DNV_ANYTIME(F) \
	F(nvmlInit_v2, (void), ()) \
	F(nvmlInitWithFlags, (uint32_t flags), (flags)) \
	F(nvmlSystemGetNVMLVersion, (char *version, uint32_t bytes), (version, bytes))

#define DNV_SINCE_450(F) \
	F(nvmlShutdown, (void), ()) \
	F(nvmlSystemGetDriverVersion, (char *version, uint32_t bytes), (version, bytes)) \
	F(nvmlSystemGetCudaDriverVersion_v2, (int *version), (version)) \
	F(nvmlDeviceGetCount_v2, (uint32_t *count), (count)) \
	F(nvmlDeviceGetHandleByIndex_v2, (uint32_t index, struct dnv_handle **ret), (index, ret)) \
	F(nvmlDeviceGetHandleByUUID, (const char *uuid, struct dnv_handle **ret), (uuid, ret)) \
	F(nvmlDeviceGetHandleByPciBusId_v2, (const char *id, struct dnv_handle **ret), (id, ret)) \
	F(nvmlDeviceGetIndex, (struct dnv_handle *device, uint32_t *index), (device, index)) \
	F(nvmlDeviceGetName, (struct dnv_handle *device, char *name, uint32_t bytes), (device, name, bytes)) \
	F(nvmlDeviceGetUUID, (struct dnv_handle *device, char *uuid, uint32_t bytes), (device, uuid, bytes)) \
	F(nvmlDeviceGetPciInfo_v3, (struct dnv_handle *device, struct dnv_pci_info *info), (device, info)) \
	F(nvmlDeviceGetCudaComputeCapability, (struct dnv_handle *device, int *major, int *minor), (device, major, minor)) \
	F(nvmlDeviceGetPersistenceMode, (struct dnv_handle *device, uint32_t *mode), (device, mode)) \
	F(nvmlDeviceGetMinorNumber, (struct dnv_handle *device, uint32_t *minor), (device, minor)) \
	F(nvmlDeviceGetMemoryInfo, (struct dnv_handle *device, struct dnv_memory *info), (device, info)) \
	F(nvmlDeviceGetUtilizationRates, (struct dnv_handle *device, struct dnv_utilization *rates), (device, rates)) \
	F(nvmlDeviceGetAttributes, (struct dnv_handle *device, struct dnv_attributes_v1 *info), (device, info)) \
	F(nvmlDeviceGetMigMode, (struct dnv_handle *device, uint32_t *current, uint32_t *pending), (device, current, pending)) \
	F(nvmlDeviceSetMigMode, (struct dnv_handle *device, uint32_t mode, int *status), (device, mode, status)) \
	F(nvmlDeviceGetMaxMigDeviceCount, (struct dnv_handle *device, uint32_t *count), (device, count)) \
	F(nvmlDeviceGetMigDeviceHandleByIndex, (struct dnv_handle *device, uint32_t index, struct dnv_handle **ret), (device, index, ret)) \
	F(nvmlDeviceIsMigDeviceHandle, (struct dnv_handle *device, uint32_t *is), (device, is)) \
	F(nvmlDeviceGetGpuInstanceId, (struct dnv_handle *device, uint32_t *id), (device, id)) \
	F(nvmlDeviceGetComputeInstanceId, (struct dnv_handle *device, uint32_t *id), (device, id)) \
	F(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (struct dnv_handle *device, struct dnv_handle **ret), (device, ret)) \
	F(nvmlDeviceGetGpuInstanceProfileInfo, (struct dnv_handle *device, uint32_t index, struct dnv_gi_profile_info *info), (device, index, info)) \
	F(nvmlDeviceGetGpuInstancePossiblePlacements, (struct dnv_handle *device, uint32_t profile_id, struct dnv_placement *ret, uint32_t *count), (device, profile_id, ret, count)) \
	F(nvmlDeviceGetGpuInstanceRemainingCapacity, (struct dnv_handle *device, uint32_t profile_id, uint32_t *count), (device, profile_id, count)) \
	F(nvmlDeviceCreateGpuInstance, (struct dnv_handle *device, uint32_t profile_id, struct dnv_handle **ret), (device, profile_id, ret)) \
	F(nvmlGpuInstanceDestroy, (struct dnv_handle *gi), (gi)) \
	F(nvmlDeviceGetGpuInstances, (struct dnv_handle *device, uint32_t profile_id, struct dnv_handle **ret, uint32_t *count), (device, profile_id, ret, count)) \
	F(nvmlDeviceGetGpuInstanceById, (struct dnv_handle *device, uint32_t id, struct dnv_handle **ret), (device, id, ret)) \
	F(nvmlGpuInstanceGetInfo, (struct dnv_handle *gi, struct dnv_gi_info *info), (gi, info)) \
	F(nvmlGpuInstanceGetComputeInstanceProfileInfo, (struct dnv_handle *gi, uint32_t index, uint32_t engines, struct dnv_ci_profile_info *info), (gi, index, engines, info)) \
	F(nvmlGpuInstanceGetComputeInstanceRemainingCapacity, (struct dnv_handle *gi, uint32_t profile_id, uint32_t *count), (gi, profile_id, count)) \
	F(nvmlGpuInstanceCreateComputeInstance, (struct dnv_handle *gi, uint32_t profile_id, struct dnv_handle **ret), (gi, profile_id, ret)) \
	F(nvmlComputeInstanceDestroy, (struct dnv_handle *ci), (ci)) \
	F(nvmlGpuInstanceGetComputeInstances, (struct dnv_handle *gi, uint32_t profile_id, struct dnv_handle **ret, uint32_t *count), (gi, profile_id, ret, count)) \
	F(nvmlGpuInstanceGetComputeInstanceById, (struct dnv_handle *gi, uint32_t id, struct dnv_handle **ret), (gi, id, ret)) \
	F(nvmlComputeInstanceGetInfo, (struct dnv_handle *ci, struct dnv_ci_info_v1 *info), (ci, info)) \
	F(nvmlDeviceGetComputeRunningProcesses, (struct dnv_handle *device, uint32_t *count, struct dnv_process_v1 *ret), (device, count, ret)) \
	F(nvmlDeviceGetGraphicsRunningProcesses, (struct dnv_handle *device, uint32_t *count, struct dnv_process_v1 *ret), (device, count, ret)) \
	F(nvmlDeviceGetProcessUtilization, (struct dnv_handle *device, struct dnv_process_utilization *ret, uint32_t *count, uint64_t after_us), (device, ret, count, after_us)) \
	F(nvmlDeviceGetVirtualizationMode, (struct dnv_handle *device, uint32_t *mode), (device, mode)) \
	F(nvmlDeviceGetHostVgpuMode, (struct dnv_handle *device, uint32_t *mode), (device, mode)) \
	F(nvmlDeviceGetSupportedVgpus, (struct dnv_handle *device, uint32_t *count, uint32_t *ret), (device, count, ret)) \
	F(nvmlDeviceGetCreatableVgpus, (struct dnv_handle *device, uint32_t *count, uint32_t *ret), (device, count, ret)) \
	F(nvmlDeviceGetActiveVgpus, (struct dnv_handle *device, uint32_t *count, uint32_t *ret), (device, count, ret)) \
	F(nvmlVgpuTypeGetName, (uint32_t type, char *name, uint32_t *bytes), (type, name, bytes)) \
	F(nvmlVgpuTypeGetFramebufferSize, (uint32_t type, uint64_t *bytes), (type, bytes)) \
	F(nvmlVgpuTypeGetMaxInstances, (struct dnv_handle *device, uint32_t type, uint32_t *count), (device, type, count)) \
	F(nvmlDeviceGetPowerUsage, (struct dnv_handle *device, uint32_t *milliwatts), (device, milliwatts)) \
	F(nvmlDeviceGetTemperature, (struct dnv_handle *device, uint32_t sensor, uint32_t *celsius), (device, sensor, celsius)) \
	F(nvmlDeviceGetTotalEnergyConsumption, (struct dnv_handle *device, uint64_t *millijoules), (device, millijoules)) \
	F(nvmlDeviceGetEncoderUtilization, (struct dnv_handle *device, uint32_t *percent, uint32_t *period), (device, percent, period)) \
	F(nvmlDeviceGetDecoderUtilization, (struct dnv_handle *device, uint32_t *percent, uint32_t *period), (device, percent, period)) \
	F(nvmlDeviceGetTotalEccErrors, (struct dnv_handle *device, uint32_t type, uint32_t counter, uint64_t *count), (device, type, counter, count)) \
	F(nvmlDeviceGetRetiredPagesPendingStatus, (struct dnv_handle *device, uint32_t *pending), (device, pending)) \
	F(nvmlDeviceSetPowerManagementLimit, (struct dnv_handle *device, uint32_t milliwatts), (device, milliwatts)) \
	F(nvmlDeviceGetTopologyNearestGpus, (struct dnv_handle *device, uint32_t level, uint32_t *count, struct dnv_handle **ret), (device, level, count, ret)) \
	F(nvmlDeviceGetAccountingPids, (struct dnv_handle *device, uint32_t *count, uint32_t *ret), (device, count, ret)) \
	F(nvmlDeviceGetAccountingStats, (struct dnv_handle *device, uint32_t pid, struct dnv_accounting *ret), (device, pid, ret)) \
	F(nvmlEventSetCreate, (struct dnv_event_set **ret), (ret)) \
	F(nvmlEventSetFree, (struct dnv_event_set *set), (set)) \
	F(nvmlDeviceRegisterEvents, (struct dnv_handle *device, uint64_t types, struct dnv_event_set *set), (device, types, set)) \
	F(nvmlEventSetWait_v2, (struct dnv_event_set *set, struct dnv_event *ret, uint32_t ms), (set, ret, ms))

/* Between R450 and R470. */
#define DNV_SINCE_470(F) \
	F(nvmlDeviceGetRemappedRows, (struct dnv_handle *device, uint32_t *corrected, uint32_t *uncorrected, uint32_t *pending, uint32_t *failed), (device, corrected, uncorrected, pending, failed)) \
	F(nvmlDeviceGetArchitecture, (struct dnv_handle *device, uint32_t *architecture), (device, architecture)) \
	F(nvmlDeviceGetAttributes_v2, (struct dnv_handle *device, struct dnv_attributes *info), (device, info)) \
	F(nvmlDeviceGetGpuInstancePossiblePlacements_v2, (struct dnv_handle *device, uint32_t profile_id, struct dnv_placement *ret, uint32_t *count), (device, profile_id, ret, count)) \
	F(nvmlDeviceCreateGpuInstanceWithPlacement, (struct dnv_handle *device, uint32_t profile_id, const struct dnv_placement *at, struct dnv_handle **ret), (device, profile_id, at, ret)) \
	F(nvmlComputeInstanceGetInfo_v2, (struct dnv_handle *ci, struct dnv_ci_info *info), (ci, info)) \
	F(nvmlDeviceGetComputeRunningProcesses_v2, (struct dnv_handle *device, uint32_t *count, struct dnv_process *ret), (device, count, ret)) \
	F(nvmlDeviceGetGraphicsRunningProcesses_v2, (struct dnv_handle *device, uint32_t *count, struct dnv_process *ret), (device, count, ret))

/* Between R470 and R580. */
#define DNV_SINCE_580(F) \
	F(nvmlDeviceGetMemoryInfo_v2, (struct dnv_handle *device, struct dnv_memory_v2 *info), (device, info)) \
	F(nvmlDeviceGetNumGpuCores, (struct dnv_handle *device, uint32_t *count), (device, count)) \
	F(nvmlDeviceGetGpuInstanceProfileInfoV, (struct dnv_handle *device, uint32_t index, void *info), (device, index, info)) \
	F(nvmlGpuInstanceGetComputeInstanceProfileInfoV, (struct dnv_handle *gi, uint32_t index, uint32_t engines, struct dnv_ci_profile_info_v3 *info), (gi, index, engines, info)) \
	F(nvmlGpuInstanceGetComputeInstancePossiblePlacements, (struct dnv_handle *gi, uint32_t profile_id, struct dnv_placement *ret, uint32_t *count), (gi, profile_id, ret, count)) \
	F(nvmlGpuInstanceCreateComputeInstanceWithPlacement, (struct dnv_handle *gi, uint32_t profile_id, const struct dnv_placement *at, struct dnv_handle **ret), (gi, profile_id, at, ret)) \
	F(nvmlDeviceGetComputeRunningProcesses_v3, (struct dnv_handle *device, uint32_t *count, struct dnv_process *ret), (device, count, ret)) \
	F(nvmlDeviceGetGraphicsRunningProcesses_v3, (struct dnv_handle *device, uint32_t *count, struct dnv_process *ret), (device, count, ret)) \
	F(nvmlDeviceGetMPSComputeRunningProcesses_v3, (struct dnv_handle *device, uint32_t *count, struct dnv_process *ret), (device, count, ret)) \
	F(nvmlDeviceGetRunningProcessDetailList, (struct dnv_handle *device, struct dnv_detail_list *list), (device, list)) \
	F(nvmlDeviceGetProcessesUtilizationInfo, (struct dnv_handle *device, struct dnv_use_list *list), (device, list))

/* Between R580 and R615. */
#define DNV_SINCE_615(F) \
	F(nvmlDeviceGetMemoryLimits_v1, (struct dnv_handle *device, struct dnv_limits *limits), (device, limits)) \
	F(nvmlDeviceSetMemoryLimits_v1, (struct dnv_handle *device, struct dnv_limits *limits), (device, limits))
/* clang-format on */

#define DNV_ALL(F) \
	DNV_ANYTIME(F) DNV_SINCE_450(F) DNV_SINCE_470(F) DNV_SINCE_580(F) DNV_SINCE_615(F)

/* The same numbers in every build, because the builds share their counters. */
enum dnv_function {
#define DNV_NUMBER(name, parameters, arguments) DNV_##name,
	DNV_ALL(DNV_NUMBER)
#undef DNV_NUMBER
		_DNV_FUNCTION_MAX,
};

#define DNV_PROTOTYPE(name, parameters, arguments) int dnv_##name parameters;
DNV_ALL(DNV_PROTOTYPE)
#undef DNV_PROTOTYPE

/* The driver that this build simulates. */
#ifndef DNV_DRIVER
#define DNV_DRIVER 580
#endif
