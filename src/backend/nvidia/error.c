/* SPDX-License-Identifier: Apache-2.0 */
/* Maps NVML's return codes to an errno and a message.  A code that the table lacks is
 * shown with nvmlErrorString(). */
#include "backend/nvidia/error.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

struct meaning {
	int code;
	int errnum;
	const char *why;
	const char *remedy;
};

#define SEE_LOG CLV_NVIDIA_SEE_LOG

/* clang-format off */
static const struct meaning meanings[] = {
	{ CLV_NVML_UNINITIALIZED, EIO, "NVML was shut down", "restart cleaved" },
	{ CLV_NVML_INVALID_ARGUMENT, EIO, "the driver rejects an argument of the call", "read the devices again" },
	{ CLV_NVML_NOT_SUPPORTED, ENOTSUP, "this GPU or its driver does not support it", "update the driver" },
	{ CLV_NVML_NO_PERMISSION, EPERM, "the driver does not permit it", "run cleaved as root" },
	{ CLV_NVML_NOT_FOUND, ENODEV, "it does not exist any more", "read the devices again" },
	{ CLV_NVML_INSUFFICIENT_SIZE, EIO, "the driver's answer is too long", "read the devices again" },
	{ CLV_NVML_INSUFFICIENT_POWER, ENODEV, "the GPU's power cable is not attached", "attach it" },
	{ CLV_NVML_DRIVER_NOT_LOADED, ENODEV, "NVIDIA's kernel driver is not loaded", "modprobe nvidia" },
	{ CLV_NVML_TIMEOUT, ETIMEDOUT, "the driver did not answer in time", SEE_LOG },
	{ CLV_NVML_IRQ_ISSUE, ENODEV, "the GPU's interrupts do not work", SEE_LOG },
	{ CLV_NVML_LIBRARY_NOT_FOUND, ENODEV, "a library of the driver is missing", "install the driver again" },
	{ CLV_NVML_FUNCTION_NOT_FOUND, ENOTSUP, "this driver is too old for it", "update the driver" },
	{ CLV_NVML_CORRUPTED_INFOROM, EIO, "the GPU's infoROM is corrupted", "flash or replace the GPU" },
	{ CLV_NVML_GPU_IS_LOST, ENODEV, "the GPU fell off the bus", "reboot the machine, " SEE_LOG },
	{ CLV_NVML_RESET_REQUIRED, ENODEV, "the GPU needs a reset", "nvidia-smi --gpu-reset, or reboot" },
	{ CLV_NVML_OPERATING_SYSTEM, EPERM, "the system blocks the device file", "allow /dev/nvidia* in its cgroup" },
	{ CLV_NVML_LIB_RM_VERSION_MISMATCH, ENODEV, "NVIDIA's library and loaded kernel driver are of different versions", "reboot, or reload the nvidia modules" },
	{ CLV_NVML_IN_USE, EBUSY, "it is in use", "end the programs that use it" },
	{ CLV_NVML_MEMORY, ENOSPC, "the driver is out of memory", "free some" },
	{ CLV_NVML_NO_DATA, EIO, "the driver has no data", "try again" },
	{ CLV_NVML_VGPU_ECC_NOT_SUPPORTED, ENOTSUP, "vGPU does not work with ECC on here", "turn ECC off" },
	{ CLV_NVML_INSUFFICIENT_RESOURCES, ENOSPC, "there is no room for it", "destroy what overlaps it" },
	{ CLV_NVML_ARGUMENT_VERSION_MISMATCH, ENOTSUP, "this driver knows another form of the call", "update the driver" },
	{ CLV_NVML_DEPRECATED, ENOTSUP, "this driver no longer has the call", "update cleave" },
	{ CLV_NVML_NOT_READY, EBUSY, "the driver is not ready", "try again" },
	{ CLV_NVML_GPU_NOT_FOUND, ENODEV, "the driver finds no GPU", SEE_LOG },
	{ CLV_NVML_INVALID_STATE, ENOTSUP, "the GPU is not in a state for it", "read the devices again" },
	{ CLV_NVML_RESET_TYPE_NOT_SUPPORTED, ENOTSUP, "the GPU cannot be reset that way", "reboot" },
	{ CLV_NVML_UNKNOWN, EIO, "the driver failed and does not say why", SEE_LOG },
};
/* clang-format on */

static const struct meaning *find_meaning(int code)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(meanings); i++) {
		if (meanings[i].code == code)
			return &meanings[i];
	}
	return NULL;
}

int clv_nvidia_error(const struct clv_nvidia_library *nvml, int code,
	struct clv_error *err, const char *context, ...)
{
	const struct meaning *meaning = find_meaning(code);
	char what[192];
	va_list args;

	va_start(args, context);
	vsnprintf(what, sizeof(what), context, args);
	va_end(args);
	if (!meaning)
		return clv_error_set(err, -EIO, "%s: NVML's error %d (%s): %s", what,
			code, nvml->error_string(code), SEE_LOG);
	return clv_error_set(
		err, -meaning->errnum, "%s: %s: %s", what, meaning->why, meaning->remedy);
}
