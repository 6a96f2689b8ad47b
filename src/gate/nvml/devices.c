/* SPDX-License-Identifier: Apache-2.0 */
/* NVML's devices are those of the lease, numbered in its order.  Queries need a handle,
 * so every call that returns one is wrapped here. */
#include "gate/nvml-hooks.h"
#include "gate/nvml/lease.h"
#include "gate/process/view.h"

#define LISTED_MAX 256u

/* Counts and indexes. */

static int count(int (*real)(void *count), void *device_count)
{
	struct clv_nvml_devices devices;
	const struct clv_view *view;
	int r = real(device_count);

	if (r != CLV_NVML_SUCCESS || clv_nvml_get_sight(&view) == CLV_NVML_ALL)
		return r;
	r = clv_nvml_find_devices(view, &devices);
	if (r == CLV_NVML_SUCCESS)
		*(uint32_t *)device_count = devices.n;
	return r;
}

int clv_own_nvmlDeviceGetCount(clv_fn_nvmlDeviceGetCount *real, void *device_count)
{
	return count(real, device_count);
}

int clv_own_nvmlDeviceGetCount_v2(clv_fn_nvmlDeviceGetCount_v2 *real, void *device_count)
{
	return count(real, device_count);
}

static int by_index(
	int (*real)(uint32_t index, void *device), uint32_t index, void *device)
{
	struct clv_nvml_devices devices;
	const struct clv_view *view;
	int r;

	if (clv_nvml_get_sight(&view) == CLV_NVML_ALL)
		return real(index, device);
	r = clv_nvml_find_devices(view, &devices);
	if (r != CLV_NVML_SUCCESS)
		return r;
	if (!device || index >= devices.n)
		return CLV_NVML_INVALID_ARGUMENT;
	*(void **)device = devices.items[index].gpu;
	return CLV_NVML_SUCCESS;
}

int clv_own_nvmlDeviceGetHandleByIndex(
	clv_fn_nvmlDeviceGetHandleByIndex *real, uint32_t index, void *device)
{
	return by_index(real, index, device);
}

int clv_own_nvmlDeviceGetHandleByIndex_v2(
	clv_fn_nvmlDeviceGetHandleByIndex_v2 *real, uint32_t index, void *device)
{
	return by_index(real, index, device);
}

/* 0 for a MIG device too, which is the first one of its GPU. */
static uint32_t find_index(const struct clv_nvml_devices *devices, void *device)
{
	for (uint32_t i = 0; i < devices->n; i++) {
		if (clv_nvml_is_same_device(devices->items[i].gpu, device))
			return i;
	}
	return 0;
}

int clv_own_nvmlDeviceGetIndex(clv_fn_nvmlDeviceGetIndex *real, void *device, void *index)
{
	struct clv_nvml_devices devices;
	const struct clv_view *view;
	int r = real(device, index);

	if (r != CLV_NVML_SUCCESS || clv_nvml_get_sight(&view) != CLV_NVML_LEASE)
		return r;
	r = clv_nvml_find_devices(view, &devices);
	if (r == CLV_NVML_SUCCESS)
		*(uint32_t *)index = find_index(&devices, device);
	return r;
}

/* Names. */

static bool is_listed(const struct clv_nvml_devices *devices, void *device)
{
	for (uint32_t i = 0; i < devices->n; i++) {
		if (clv_nvml_is_same_device(devices->items[i].gpu, device) ||
			(devices->items[i].mig &&
				clv_nvml_is_same_device(devices->items[i].mig, device)))
			return true;
	}
	return false;
}

/* Filters a lookup by name: a device that is not the lease's is not found. */
static int filter_handle(int r, void *device)
{
	struct clv_nvml_devices devices;
	const struct clv_view *view;

	if (r != CLV_NVML_SUCCESS || clv_nvml_get_sight(&view) == CLV_NVML_ALL)
		return r;
	r = clv_nvml_find_devices(view, &devices);
	if (r == CLV_NVML_SUCCESS && is_listed(&devices, *(void **)device))
		return r;
	*(void **)device = NULL;
	return r == CLV_NVML_SUCCESS ? CLV_NVML_NOT_FOUND : r;
}

int clv_own_nvmlDeviceGetHandleBySerial(
	clv_fn_nvmlDeviceGetHandleBySerial *real, const char *serial, void *device)
{
	return filter_handle(real(serial, device), device);
}

int clv_own_nvmlDeviceGetHandleByUUID(
	clv_fn_nvmlDeviceGetHandleByUUID *real, const char *uuid, void *device)
{
	return filter_handle(real(uuid, device), device);
}

int clv_own_nvmlDeviceGetHandleByUUIDV(
	clv_fn_nvmlDeviceGetHandleByUUIDV *real, void *uuid, void *device)
{
	return filter_handle(real(uuid, device), device);
}

int clv_own_nvmlDeviceGetHandleByPciBusId(
	clv_fn_nvmlDeviceGetHandleByPciBusId *real, const char *pci_bus_id, void *device)
{
	return filter_handle(real(pci_bus_id, device), device);
}

int clv_own_nvmlDeviceGetHandleByPciBusId_v2(
	clv_fn_nvmlDeviceGetHandleByPciBusId_v2 *real, const char *pci_bus_id,
	void *device)
{
	return filter_handle(real(pci_bus_id, device), device);
}

/* MIG devices and instances. */

/* The lease's MIG device on the GPU.  NULL: it has none. */
static void *find_part(const struct clv_nvml_devices *devices, void *gpu)
{
	for (uint32_t i = 0; i < devices->n; i++) {
		if (clv_nvml_is_same_device(devices->items[i].gpu, gpu))
			return devices->items[i].mig;
	}
	return NULL;
}

/* NOT_FOUND is also what the driver returns for gaps in its own list. */
int clv_own_nvmlDeviceGetMigDeviceHandleByIndex(
	clv_fn_nvmlDeviceGetMigDeviceHandleByIndex *real, void *device, uint32_t index,
	void *mig_device)
{
	struct clv_nvml_devices devices;
	const struct clv_view *view;
	void *part;
	int r;

	if (clv_nvml_get_sight(&view) == CLV_NVML_ALL)
		return real(device, index, mig_device);
	r = clv_nvml_find_devices(view, &devices);
	if (r != CLV_NVML_SUCCESS)
		return r;
	part = find_part(&devices, device);
	if (part && mig_device && index == 0) {
		*(void **)mig_device = part;
		return CLV_NVML_SUCCESS;
	}
	r = real(device, index, mig_device);
	return r == CLV_NVML_SUCCESS ? CLV_NVML_NOT_FOUND : r;
}

/* On a GPU that the lease has as a whole all instances are its own. */
int clv_own_nvmlDeviceGetGpuInstanceById(clv_fn_nvmlDeviceGetGpuInstanceById *real,
	void *device, uint32_t id, void *gpu_instance)
{
	struct clv_nvml_devices devices;
	const struct clv_view *view;
	uint32_t of_part;
	void *part;
	int r;

	if (clv_nvml_get_sight(&view) != CLV_NVML_LEASE)
		return real(device, id, gpu_instance);
	r = clv_nvml_find_devices(view, &devices);
	if (r != CLV_NVML_SUCCESS)
		return r;
	part = find_part(&devices, device);
	if (part && (clv_nvml.nvmlDeviceGetGpuInstanceId(part, &of_part) !=
				    CLV_NVML_SUCCESS ||
			    of_part != id))
		return CLV_NVML_NOT_FOUND;
	return real(device, id, gpu_instance);
}

/* Lists. */

/* Returns those of the devices found that are the lease's, by NVML's rules for count and
 * ret. r is the driver's result. */
static int answer_list(void *const found[LISTED_MAX], uint32_t n_found, int r,
	uint32_t *count, void **ret)
{
	struct clv_nvml_devices devices;
	const struct clv_view *view;
	uint32_t n = 0;

	if (r != CLV_NVML_SUCCESS)
		return r;
	clv_nvml_get_sight(&view);
	r = clv_nvml_find_devices(view, &devices);
	if (r != CLV_NVML_SUCCESS)
		return r;
	for (uint32_t i = 0; i < n_found; i++) {
		if (!is_listed(&devices, found[i]))
			continue;
		if (ret && n < *count)
			ret[n] = found[i];
		n++;
	}
	if (*count > 0 && n > *count)
		return CLV_NVML_INSUFFICIENT_SIZE;
	*count = n;
	return CLV_NVML_SUCCESS;
}

static bool sees_all(void)
{
	const struct clv_view *view;

	return clv_nvml_get_sight(&view) == CLV_NVML_ALL;
}

int clv_own_nvmlSystemGetTopologyGpuSet(clv_fn_nvmlSystemGetTopologyGpuSet *real,
	uint32_t cpu_number, void *count, void *device_array)
{
	void *found[LISTED_MAX];
	uint32_t n = 0;
	int r;

	if (!count || sees_all())
		return real(cpu_number, count, device_array);
	r = real(cpu_number, &n, NULL);
	if (r == CLV_NVML_SUCCESS && n > 0 && n <= LISTED_MAX)
		r = real(cpu_number, &n, found);
	return answer_list(found, n > LISTED_MAX ? 0 : n, r, count, device_array);
}

int clv_own_nvmlDeviceGetTopologyNearestGpus(
	clv_fn_nvmlDeviceGetTopologyNearestGpus *real, void *device, uint32_t level,
	void *count, void *device_array)
{
	void *found[LISTED_MAX];
	uint32_t n = 0;
	int r;

	if (!count || sees_all())
		return real(device, level, count, device_array);
	r = real(device, level, &n, NULL);
	if (r == CLV_NVML_SUCCESS && n > 0 && n <= LISTED_MAX)
		r = real(device, level, &n, found);
	return answer_list(found, n > LISTED_MAX ? 0 : n, r, count, device_array);
}

int clv_own_nvmlUnitGetDevices(
	clv_fn_nvmlUnitGetDevices *real, void *unit, void *device_count, void *devices)
{
	void *found[LISTED_MAX];
	uint32_t n = LISTED_MAX;
	int r;

	if (!device_count || sees_all())
		return real(unit, device_count, devices);
	r = real(unit, &n, found);
	return answer_list(found, n, r, device_count, devices);
}
