/* SPDX-License-Identifier: Apache-2.0 */
/* Utilization of processes.  The driver keeps samples for each process, of up to a second
 * each, and returns those newer than a time; an idle process has no samples. */
#include "backend/nvidia/utilization.h"

#include "base/cleanup.h"

#include <stdlib.h>

#define PERCENT 1e-2
#define TRIES 4

struct samples {
	struct clv_nvml_process_utilization *items; /* owned */
	uint32_t n;
};

/* False: the driver does not report samples. */
static bool read_samples(const struct clv_nvidia_library *nvml,
	const struct clv_nvidia_gpu *gpu, struct samples *ret)
{
	uint32_t room = 64;

	for (int i = 0; i < TRIES; i++) {
		uint32_t n = room;
		int code;

		free(ret->items);
		ret->items = calloc(room, sizeof(*ret->items));
		if (!ret->items)
			return false;
		code = nvml->get_process_utilization(
			gpu->handle, ret->items, &n, gpu->utilization_us);
		if (code == CLV_NVML_SUCCESS && n <= room)
			ret->n = n;
		if (code == CLV_NVML_SUCCESS || code == CLV_NVML_NOT_FOUND)
			return true;
		if (code != CLV_NVML_INSUFFICIENT_SIZE || n > UINT16_MAX)
			return false;
		room = 2 * (n > room ? n : room);
	}
	return false;
}

static double mean_of(const struct samples *samples, uint32_t pid)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < samples->n; i++) {
		if (samples->items[i].pid == pid) {
			sum += samples->items[i].compute * PERCENT;
			n++;
		}
	}
	return n > 0 ? sum / n : 0;
}

void clv_nvidia_utilization_sample(const struct clv_nvidia_library *nvml,
	struct clv_nvidia_gpu *gpu, struct clv_reading *reading)
{
	struct samples samples = {0};

	if (nvml->get_process_utilization && read_samples(nvml, gpu, &samples)) {
		reading->has_mean_utilization = true;
		for (size_t i = 0; i < reading->n_processes; i++) {
			const struct clv_reading_process *process =
				&reading->processes[i];

			clv_reading_set_utilization(reading, process->pid,
				process->partition, mean_of(&samples, process->pid));
		}
	}
	for (uint32_t i = 0; i < samples.n; i++) {
		if (samples.items[i].time_us > gpu->utilization_us)
			gpu->utilization_us = samples.items[i].time_us;
	}
	free(samples.items);
}
