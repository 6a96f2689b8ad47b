/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include "call.h"
#include "handles.h"
#include "processes.h"
#include "readings.h"
#include <string.h>

/* Queries of monitoring tools besides the process lists. Accounting covers only live
 * processes, each with the utilization of the reading `busy`. */

static int find(struct dnv_handle *device, struct dnv_process found[DNV_PROCESSES_MAX],
	uint32_t *n, uint32_t *busy)
{
	struct dnv_target target;
	int r = dnv_resolve(device, DNV_KIND_GPU, &target);

	if (r)
		return r;
	if (target.state->mig)
		return DNV_NOT_SUPPORTED;
	*busy = (uint32_t)dnv_reading(target.gpu, "busy", 50);
	return dnv_processes_find(device, "CGM", found, n);
}

int dnv_nvmlDeviceGetProcessesUtilizationInfo(
	struct dnv_handle *device, struct dnv_use_list *list)
{
	struct dnv_process_utilization samples[DNV_PROCESSES_MAX];
	uint32_t n = DNV_PROCESSES_MAX, room;
	int r;

	if (!list)
		return DNV_INVALID_ARGUMENT;
	if (list->version != DNV_VERSION(struct dnv_use_list, 1))
		return DNV_ARGUMENT_VERSION_MISMATCH;
	r = dnv_nvmlDeviceGetProcessUtilization(device, samples, &n, list->since_us);
	if (r)
		return r;
	room = list->n;
	list->n = n;
	if (!list->items || room < n)
		return DNV_INSUFFICIENT_SIZE;
	for (uint32_t i = 0; i < n; i++)
		list->items[i] = (struct dnv_process_use_info){
			.time_us = samples[i].time_us,
			.pid = samples[i].pid,
			.sm = samples[i].sm,
		};
	return DNV_SUCCESS;
}

/* Compute, graphics, MPS, all. */
static const char *const modes[] = {"C", "G", "M", "CGM"};

int dnv_nvmlDeviceGetRunningProcessDetailList(
	struct dnv_handle *device, struct dnv_detail_list *list)
{
	struct dnv_process found[DNV_PROCESSES_MAX];
	struct dnv_process_detail details[DNV_PROCESSES_MAX];
	uint32_t n;
	int r;

	if (!list || list->mode >= sizeof(modes) / sizeof(modes[0]))
		return DNV_INVALID_ARGUMENT;
	if (list->version != DNV_VERSION(struct dnv_detail_list, 1))
		return DNV_ARGUMENT_VERSION_MISMATCH;
	r = dnv_processes_find(device, modes[list->mode], found, &n);
	if (r)
		return r;
	for (uint32_t i = 0; i < n; i++)
		details[i] = (struct dnv_process_detail){.process = found[i]};
	return dnv_answer_array(list->items, &list->n, details, n, sizeof(details[0]));
}

int dnv_nvmlDeviceGetAccountingPids(
	struct dnv_handle *device, uint32_t *count, uint32_t *ret)
{
	struct dnv_process found[DNV_PROCESSES_MAX];
	uint32_t pids[DNV_PROCESSES_MAX], n, busy;
	int r = find(device, found, &n, &busy);

	if (r)
		return r;
	for (uint32_t i = 0; i < n; i++)
		pids[i] = found[i].pid;
	return dnv_answer_array(ret, count, pids, n, sizeof(pids[0]));
}

int dnv_nvmlDeviceGetAccountingStats(
	struct dnv_handle *device, uint32_t pid, struct dnv_accounting *ret)
{
	struct dnv_process found[DNV_PROCESSES_MAX];
	uint32_t n, busy;
	int r = find(device, found, &n, &busy);

	if (r)
		return r;
	if (!ret)
		return DNV_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < n; i++) {
		if (found[i].pid != pid)
			continue;
		*ret = (struct dnv_accounting){
			.gpu = busy, .most_bytes = found[i].bytes, .is_running = 1};
		return DNV_SUCCESS;
	}
	return DNV_NOT_FOUND;
}

/* All GPUs are on the same switch. */
int dnv_nvmlDeviceGetTopologyNearestGpus(struct dnv_handle *device, uint32_t level,
	uint32_t *count, struct dnv_handle **ret)
{
	struct dnv_target target;
	uint32_t n = 0;
	int r = dnv_resolve_for(device, DNV_KIND_GPU, count, &target);

	if (r)
		return r;
	for (uint32_t i = 0; i < dnv_node()->n_gpus; i++) {
		if (i == target.gpu)
			continue;
		if (ret && n < *count)
			ret[n] = dnv_handle_gpu(i);
		n++;
	}
	if (*count == 0 || n < *count)
		*count = n;
	return DNV_SUCCESS;
}

/* The value has no effect here. */
int dnv_nvmlDeviceSetPowerManagementLimit(struct dnv_handle *device, uint32_t milliwatts)
{
	struct dnv_target target;
	int r = dnv_resolve(device, DNV_KIND_GPU, &target);

	if (r)
		return r;
	return dnv_node()->unprivileged ? DNV_NO_PERMISSION : DNV_SUCCESS;
}
