/* SPDX-License-Identifier: Apache-2.0 */
/* Utilization, relative to the lease's share: 100 % is all of the share. */
#include "gate/nvml-hooks.h"
#include "gate/nvml/lease.h"
#include "gate/process/view.h"

#define PPM 1000000u

/* Converts parts per million of the device to percent of the share. */
static uint32_t percent_of_share(const struct clv_view *view, uint64_t ppm)
{
	uint64_t share_ppm = atomic_load(&view->control->share_ppm);
	uint64_t percent = (100 * ppm + share_ppm / 2) / share_ppm;

	return percent > 100 ? 100 : (uint32_t)percent;
}

/* The view, if it has the share; NULL otherwise.  Older agents do not write it. */
static const struct clv_view *view_with_share(void)
{
	const struct clv_view *view;

	if (clv_nvml_get_sight(&view) != CLV_NVML_LEASE)
		return NULL;
	return atomic_load(&view->control->share_ppm) > 0 ? view : NULL;
}

/* The GPU's figure is the part of the last second for which the lease held the device, as
 * the agent reports it.  The driver's figure for memory is of all leases together, so it
 * is limited to the GPU's. */
int clv_own_nvmlDeviceGetUtilizationRates(
	clv_fn_nvmlDeviceGetUtilizationRates *real, void *device, void *utilization)
{
	struct clv_nvml_utilization *rates = utilization;
	int r = real(device, utilization);
	const struct clv_view *view = r == CLV_NVML_SUCCESS ? view_with_share() : NULL;

	if (!view)
		return r;
	rates->gpu = percent_of_share(view, atomic_load(&view->control->share_used_ppm));
	if (rates->memory > rates->gpu)
		rates->memory = rates->gpu;
	return r;
}

/* Converts percent of the device, as the driver reports them for a process, to percent of
 * the share. */
static void scale(const struct clv_view *view, uint32_t *percent)
{
	if (atomic_load(&view->control->share_ppm) > 0)
		*percent = percent_of_share(view, *percent * (uint64_t)(PPM / 100));
}

static bool is_of_lease(const struct clv_view *view, uint32_t pid)
{
	uint64_t memory_bytes;

	return clv_nvml_find_process(view, pid, &memory_bytes);
}

/* As the driver does, returns NOT_FOUND for an empty list. */
static int set_count(int r, uint32_t *n, uint32_t n_kept)
{
	if (r != CLV_NVML_SUCCESS)
		return r;
	*n = n_kept;
	return n_kept > 0 ? CLV_NVML_SUCCESS : CLV_NVML_NOT_FOUND;
}

int clv_own_nvmlDeviceGetProcessUtilization(clv_fn_nvmlDeviceGetProcessUtilization *real,
	void *device, void *utilization, void *process_samples_count,
	uint64_t last_seen_time_stamp)
{
	struct clv_nvml_process_use *items = utilization;
	uint32_t *n = process_samples_count, n_kept = 0;
	const struct clv_view *view;
	int r = real(device, utilization, process_samples_count, last_seen_time_stamp);

	if (r != CLV_NVML_SUCCESS || !items || clv_nvml_get_sight(&view) == CLV_NVML_ALL)
		return r;
	for (uint32_t i = 0; i < *n; i++) {
		if (!is_of_lease(view, items[i].pid))
			continue;
		items[n_kept] = items[i];
		scale(view, &items[n_kept++].multiprocessors);
	}
	return set_count(r, n, n_kept);
}

int clv_own_nvmlDeviceGetProcessesUtilizationInfo(
	clv_fn_nvmlDeviceGetProcessesUtilizationInfo *real, void *device,
	void *processes_util_info)
{
	struct clv_nvml_use_list *list = processes_util_info;
	const struct clv_view *view;
	uint32_t n_kept = 0;
	int r = real(device, processes_util_info);

	if (r != CLV_NVML_SUCCESS || !list->items ||
		clv_nvml_get_sight(&view) == CLV_NVML_ALL)
		return r;
	for (uint32_t i = 0; i < list->n; i++) {
		if (!is_of_lease(view, list->items[i].pid))
			continue;
		list->items[n_kept] = list->items[i];
		scale(view, &list->items[n_kept++].multiprocessors);
	}
	return set_count(r, &list->n, n_kept);
}
