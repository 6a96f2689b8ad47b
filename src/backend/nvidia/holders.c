/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the processes that use a GPU or an instance.  Depending on its version and the
 * caller's rights, a driver lists processes for the whole GPU, for its MIG devices, or
 * for both.  Both lists are read, and each process counts once. */
#include "backend/nvidia/holders.h"

#include "backend/nvidia/mig-devices.h"
#include "backend/nvidia/partitions.h"
#include "backend/nvidia/processes.h"
#include "backend/openers.h"
#include "base/error.h"
#include "core/device/node.h"
#include "core/device/reading.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int list_of_mig_devices(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_nvidia_processes *list)
{
	_cleanup_mig_devices_ struct clv_nvidia_mig_devices devices = {0};
	int r = clv_nvidia_mig_devices_list(nvml, gpu, &devices);

	for (size_t i = 0; r == 0 && i < devices.n; i++) {
		size_t first = list->n;

		r = clv_nvidia_processes_list(nvml, devices.items[i].handle, list);
		for (size_t p = first; p < list->n; p++) {
			list->items[p].gpu_instance = devices.items[i].gpu_instance;
			list->items[p].compute_instance =
				devices.items[i].compute_instance;
		}
	}
	return r;
}

/* True for an entry of the whole GPU whose process is listed for a MIG device, too. */
static bool is_duplicate(const struct clv_nvidia_processes *list, size_t which)
{
	if (list->items[which].gpu_instance != CLV_NVML_NO_INSTANCE)
		return false;
	for (size_t i = 0; i < which; i++) {
		if (list->items[i].pid == list->items[which].pid)
			return true;
	}
	return false;
}

static int list_all(const struct clv_nvidia_library *nvml, struct clv_nvml_device *gpu,
	struct clv_nvidia_processes *list)
{
	int r = list_of_mig_devices(nvml, gpu, list);

	return r < 0 ? r : clv_nvidia_processes_list(nvml, gpu, list);
}

int clv_nvidia_holders_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, struct clv_node_device *device,
	struct clv_error *err)
{
	_cleanup_processes_ struct clv_nvidia_processes list = {0};
	int r = list_all(nvml, gpu, &list);

	for (size_t i = 0; r == 0 && i < list.n; i++) {
		const struct clv_nvml_process *process = &list.items[i];
		struct clv_partition *place = clv_nvidia_partitions_find(
			device, process->gpu_instance, process->compute_instance);

		if (!is_duplicate(&list, i))
			r = clv_holders_add_process(
				place ? &place->holders : &device->holders, process->pid);
	}
	return r < 0 ? clv_error_errno(err, ENOMEM, "cannot list the processes") : 0;
}

int clv_nvidia_holders_sample(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, const struct clv_node_device *device,
	struct clv_reading *reading)
{
	_cleanup_processes_ struct clv_nvidia_processes list = {0};
	int r = list_all(nvml, gpu, &list);

	reading->has_processes = nvml->list_compute_processes != NULL;
	for (size_t i = 0; r == 0 && i < list.n; i++) {
		const struct clv_nvml_process *process = &list.items[i];
		const struct clv_partition *place =
			clv_nvidia_partitions_find((struct clv_node_device *)device,
				process->gpu_instance, process->compute_instance);

		if (!is_duplicate(&list, i))
			r = clv_reading_add_process(reading, process->pid,
				process->used_bytes, place ? place->name : "");
	}
	return r;
}

static void append(struct clv_error *err, const char *separator, const char *text)
{
	size_t used = strlen(err->msg);

	snprintf(err->msg + used, sizeof(err->msg) - used, "%s%s", separator, text);
}

void clv_nvidia_holders_append(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, uint32_t gpu_instance, struct clv_error *err)
{
	_cleanup_processes_ struct clv_nvidia_processes list = {0};
	struct clv_holders holders = {0};

	if (!err || list_all(nvml, gpu, &list) < 0)
		return;
	for (size_t i = 0; i < list.n; i++) {
		if (gpu_instance == CLV_NVML_NO_INSTANCE ||
			list.items[i].gpu_instance == gpu_instance)
			clv_holders_add_process(&holders, list.items[i].pid);
	}
	for (size_t i = 0; i < holders.n; i++)
		append(err, i ? ", " : ": ", holders.items[i].text);
	if (holders.n == 0)
		append(err, ": ",
			"the driver names no process, so look for a monitor (DCGM), "
			"nvidia-persistenced or a display server");
	free(holders.items);
}
