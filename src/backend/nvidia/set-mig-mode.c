/* SPDX-License-Identifier: Apache-2.0 */
/* Turns MIG on and off.  nvmlDeviceSetMigMode() records the pending mode and then tries
 * to activate it, with a reset if the GPU needs one; it returns a status for each.  If
 * the activation fails, for example because the GPU is in use, the pending mode is
 * reverted: otherwise some later reset would activate it unexpectedly. */
#include "backend/nvidia/change.h"

#include "backend/nvidia/error.h"
#include "backend/nvidia/handles.h"
#include "backend/nvidia/holders.h"
#include "base/error.h"

#include <errno.h>

static int fail(const struct clv_nvidia_library *nvml, struct clv_nvml_device *gpu,
	const struct clv_node_device *device, bool on, int code, struct clv_error *err)
{
	int r = clv_nvidia_error(nvml, code, err, "cannot turn MIG %s on %s",
		on ? "on" : "off", clv_nvidia_name(device));

	if (code == CLV_NVML_IN_USE)
		clv_nvidia_holders_append(nvml, gpu, CLV_NVML_NO_INSTANCE, err);
	return r;
}

static int fail_reset_required(
	const struct clv_node_device *device, bool on, struct clv_error *err)
{
	return clv_error_set(err, -ENOTSUP,
		"MIG of %s will be %s after a reset, which this machine does not let the "
		"driver do: run nvidia-smi --gpu-reset -i %s or reboot, then read again",
		clv_nvidia_name(device), on ? "on" : "off", device->pci_address);
}

int clv_nvidia_set_mig_mode(struct clv_backend *base,
	const struct clv_node_device *device, bool on, struct clv_error *err)
{
	struct clv_nvidia_backend *backend = (struct clv_nvidia_backend *)base;
	const struct clv_nvidia_library *nvml = &backend->nvml;
	int r = clv_nvidia_library_require(nvml, CLV_NVIDIA_MIG_MODE, err);
	int activation = CLV_NVML_SUCCESS, index, code;
	struct clv_nvml_device *gpu;

	if (r < 0)
		return r;
	index = clv_nvidia_handles_find(backend, device->info.uuid, err);
	if (index < 0)
		return index;

	gpu = backend->gpus[index].handle;
	code = nvml->set_mig_mode(gpu, on, &activation);
	if (code != CLV_NVML_SUCCESS)
		return fail(nvml, gpu, device, on, code, err);
	if (activation == CLV_NVML_RESET_REQUIRED || activation == CLV_NVML_NOT_SUPPORTED)
		return fail_reset_required(device, on, err);
	if (activation != CLV_NVML_SUCCESS) {
		r = fail(nvml, gpu, device, on, activation, err);
		nvml->set_mig_mode(gpu, !on, &activation);
		return r;
	}
	backend->n_gpus = 0; /* after a reset the GPU may have another handle */
	return 0;
}
