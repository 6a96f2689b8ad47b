/* SPDX-License-Identifier: Apache-2.0 */
/* Loads NVML at run time from a table of symbols.  The agent does not link with NVML, so
 * it starts on a machine without an NVIDIA driver.  A missing symbol disables only its
 * ability. */
#include "backend/nvidia/library.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "libnvidia-ml.so.1"

struct symbol {
	enum clv_nvidia_ability ability;
	size_t offset;
	const char *name;
	const char *instead; /* fallback of older drivers; may write a shorter struct */
};

#define AT(member) offsetof(struct clv_nvidia_library, member)

/* clang-format off */
static const struct symbol symbols[] = {
	{ CLV_NVIDIA_BASE, AT(init), "nvmlInit_v2" },
	{ CLV_NVIDIA_BASE, AT(shutdown), "nvmlShutdown" },
	{ CLV_NVIDIA_BASE, AT(error_string), "nvmlErrorString" },
	{ CLV_NVIDIA_BASE, AT(get_driver_version), "nvmlSystemGetDriverVersion" },
	{ CLV_NVIDIA_BASE, AT(get_count), "nvmlDeviceGetCount_v2" },
	{ CLV_NVIDIA_BASE, AT(get_device), "nvmlDeviceGetHandleByIndex_v2" },
	{ CLV_NVIDIA_BASE, AT(get_uuid), "nvmlDeviceGetUUID" },
	{ CLV_NVIDIA_BASE, AT(get_name), "nvmlDeviceGetName" },
	{ CLV_NVIDIA_BASE, AT(get_pci), "nvmlDeviceGetPciInfo_v3" },
	{ CLV_NVIDIA_BASE, AT(get_memory), "nvmlDeviceGetMemoryInfo" },

	{ CLV_NVIDIA_MIG, AT(get_mig_mode), "nvmlDeviceGetMigMode" },
	{ CLV_NVIDIA_MIG, AT(get_gpu_profile), "nvmlDeviceGetGpuInstanceProfileInfo" },
	{ CLV_NVIDIA_MIG, AT(list_gpu_instances), "nvmlDeviceGetGpuInstances" },
	{ CLV_NVIDIA_MIG, AT(get_gpu_instance), "nvmlGpuInstanceGetInfo" },
	{ CLV_NVIDIA_MIG, AT(get_compute_profile), "nvmlGpuInstanceGetComputeInstanceProfileInfo" },
	{ CLV_NVIDIA_MIG, AT(list_compute_instances), "nvmlGpuInstanceGetComputeInstances" },
	{ CLV_NVIDIA_MIG, AT(get_compute_instance), "nvmlComputeInstanceGetInfo_v2", "nvmlComputeInstanceGetInfo" },

	{ CLV_NVIDIA_MIG_MODE, AT(set_mig_mode), "nvmlDeviceSetMigMode" },

	{ CLV_NVIDIA_INSTANCES, AT(create_gpu_instance), "nvmlDeviceCreateGpuInstanceWithPlacement" },
	{ CLV_NVIDIA_INSTANCES, AT(destroy_gpu_instance), "nvmlGpuInstanceDestroy" },
	{ CLV_NVIDIA_INSTANCES, AT(find_gpu_instance), "nvmlDeviceGetGpuInstanceById" },
	{ CLV_NVIDIA_INSTANCES, AT(fill_gpu_instance), "nvmlGpuInstanceCreateComputeInstance" },
	{ CLV_NVIDIA_INSTANCES, AT(destroy_compute_instance), "nvmlComputeInstanceDestroy" },
	{ CLV_NVIDIA_INSTANCES, AT(find_compute_instance), "nvmlGpuInstanceGetComputeInstanceById" },

	{ CLV_NVIDIA_PARTS, AT(create_compute_instance), "nvmlGpuInstanceCreateComputeInstanceWithPlacement" },

	{ CLV_NVIDIA_OPTIONAL, AT(get_device_at), "nvmlDeviceGetHandleByPciBusId_v2" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_cuda_version), "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_capability), "nvmlDeviceGetCudaComputeCapability" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_architecture), "nvmlDeviceGetArchitecture" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_core_count), "nvmlDeviceGetNumGpuCores" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_gpu_profile_versioned), "nvmlDeviceGetGpuInstanceProfileInfoV" },
	{ CLV_NVIDIA_OPTIONAL, AT(list_places), "nvmlDeviceGetGpuInstancePossiblePlacements_v2", "nvmlDeviceGetGpuInstancePossiblePlacements" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_max_mig_devices), "nvmlDeviceGetMaxMigDeviceCount" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_mig_device), "nvmlDeviceGetMigDeviceHandleByIndex" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_gpu_instance_id), "nvmlDeviceGetGpuInstanceId" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_compute_instance_id), "nvmlDeviceGetComputeInstanceId" },
	{ CLV_NVIDIA_OPTIONAL, AT(list_compute_processes), "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2" },
	{ CLV_NVIDIA_OPTIONAL, AT(list_graphics_processes), "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2" },
	{ CLV_NVIDIA_OPTIONAL, AT(list_mps_processes), "nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_process_utilization), "nvmlDeviceGetProcessUtilization" },
	{ CLV_NVIDIA_OPTIONAL, AT(list_vgpu_types), "nvmlDeviceGetSupportedVgpus" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_vgpu_name), "nvmlVgpuTypeGetName" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_vgpu_memory), "nvmlVgpuTypeGetFramebufferSize" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_vgpu_max), "nvmlVgpuTypeGetMaxInstances" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_power), "nvmlDeviceGetPowerUsage" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_temperature), "nvmlDeviceGetTemperature" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_energy), "nvmlDeviceGetTotalEnergyConsumption" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_utilization), "nvmlDeviceGetUtilizationRates" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_encoder), "nvmlDeviceGetEncoderUtilization" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_decoder), "nvmlDeviceGetDecoderUtilization" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_ecc_errors), "nvmlDeviceGetTotalEccErrors" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_remapped_rows), "nvmlDeviceGetRemappedRows" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_retirement_pending), "nvmlDeviceGetRetiredPagesPendingStatus" },
	{ CLV_NVIDIA_OPTIONAL, AT(set_limits), "nvmlDeviceSetMemoryLimits_v1" },
	{ CLV_NVIDIA_OPTIONAL, AT(get_limits), "nvmlDeviceGetMemoryLimits_v1" },
	{ CLV_NVIDIA_OPTIONAL, AT(make_event_set), "nvmlEventSetCreate" },
	{ CLV_NVIDIA_OPTIONAL, AT(free_event_set), "nvmlEventSetFree" },
	{ CLV_NVIDIA_OPTIONAL, AT(register_events), "nvmlDeviceRegisterEvents" },
	{ CLV_NVIDIA_OPTIONAL, AT(wait_for_event), "nvmlEventSetWait_v2" },
};

/* For each ability the consequence of its absence, and the first driver that has it: the
 * driver of the first public nvml.h that declares its newest function. */
static const struct {
	const char *what;
	const char *since;
} abilities[CLV_NVIDIA_OPTIONAL] = {
	[CLV_NVIDIA_BASE] = { "NVIDIA GPUs cannot be read", "R418" },
	[CLV_NVIDIA_MIG] = { "MIG cannot be read", "R450" },
	[CLV_NVIDIA_MIG_MODE] = { "MIG cannot be turned on or off", "R450" },
	[CLV_NVIDIA_INSTANCES] = { "MIG instances cannot be changed", "R460" },
	[CLV_NVIDIA_PARTS] = { "compute instances cannot be placed exactly", "R525" },
};
/* clang-format on */

static int fail_if_missing(const struct clv_nvidia_library *library,
	enum clv_nvidia_ability ability, int code, struct clv_error *err)
{
	if (!library->missing[ability])
		return 0;
	return clv_error_set(err, code, "%s: the driver has no %s: install %s or newer",
		abilities[ability].what, library->missing[ability],
		abilities[ability].since);
}

int clv_nvidia_library_require(const struct clv_nvidia_library *library,
	enum clv_nvidia_ability ability, struct clv_error *err)
{
	return fail_if_missing(library, ability, -ENOTSUP, err);
}

static void find_symbol(struct clv_nvidia_library *library, const struct symbol *symbol)
{
	void *address = dlsym(library->handle, symbol->name);

	if (!address && symbol->instead)
		address = dlsym(library->handle, symbol->instead);
	memcpy((char *)library + symbol->offset, &address, sizeof(address));
	if (!address && symbol->ability < CLV_NVIDIA_OPTIONAL &&
		!library->missing[symbol->ability])
		library->missing[symbol->ability] = symbol->name;
}

/* Folders of the driver's libraries below CLEAVE_DRIVER_ROOT, which is where a container
 * has the host, or the folder into which the driver was installed. */
static const char *const folders[] = {
	"usr/lib/x86_64-linux-gnu",
	"usr/lib/aarch64-linux-gnu",
	"usr/lib64",
	"lib64",
};

static void *open_library(void)
{
	const char *root = getenv("CLEAVE_DRIVER_ROOT");
	void *handle = NULL;
	char path[512];

	for (size_t i = 0; root && root[0] && !handle && i < CLV_ARRAY_SIZE(folders);
		i++) {
		snprintf(path, sizeof(path), "%.400s/%s/" NAME, root, folders[i]);
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return handle ? handle : dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
}

int clv_nvidia_library_open(struct clv_nvidia_library *ret, struct clv_error *err)
{
	struct clv_nvidia_library library = {.handle = open_library()};
	int r;

	if (!library.handle)
		return clv_error_set(err, -ENODEV,
			"no NVIDIA driver: %s: install R460 or newer to divide NVIDIA "
			"GPUs",
			dlerror());
	for (size_t i = 0; i < CLV_ARRAY_SIZE(symbols); i++)
		find_symbol(&library, &symbols[i]);

	r = fail_if_missing(&library, CLV_NVIDIA_BASE, -ENOTSUP, err);
	if (r < 0) {
		dlclose(library.handle);
		return r;
	}
	*ret = library;
	return 0;
}

void clv_nvidia_library_close(struct clv_nvidia_library *library)
{
	if (library->handle)
		dlclose(library->handle);
	*library = (struct clv_nvidia_library){0};
}
