/* SPDX-License-Identifier: Apache-2.0 */
#include "core/device/reading.h"

#include "base/array.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void clv_reading_begin(struct clv_reading *reading, const char *uuid)
{
	*reading = (struct clv_reading){
		.power_watts = NAN,
		.temperature_celsius = NAN,
		.energy_joules = NAN,
		.utilization = NAN,
		.encoder = NAN,
		.decoder = NAN,
		.memory_used_bytes = CLV_READING_UNKNOWN,
	};
	snprintf(reading->uuid, sizeof(reading->uuid), "%s", uuid);
}

void clv_reading_clear(struct clv_reading *reading)
{
	free(reading->processes);
	*reading = (struct clv_reading){0};
}

void clv_readings_clear(struct clv_readings *readings)
{
	for (size_t i = 0; i < readings->n; i++)
		clv_reading_clear(&readings->items[i]);
	free(readings->items);
	*readings = (struct clv_readings){0};
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	if (a == CLV_READING_UNKNOWN || b == CLV_READING_UNKNOWN)
		return a == CLV_READING_UNKNOWN ? b : a;
	return a > b ? a : b;
}

static struct clv_reading_process *find_process(
	struct clv_reading *reading, uint32_t pid, const char *partition)
{
	for (size_t i = 0; i < reading->n_processes; i++) {
		struct clv_reading_process *process = &reading->processes[i];

		if (process->pid == pid && strcmp(process->partition, partition) == 0)
			return process;
	}
	return NULL;
}

int clv_reading_add_process(struct clv_reading *reading, uint32_t pid,
	uint64_t memory_bytes, const char *partition)
{
	struct clv_reading_process *process = find_process(reading, pid, partition);

	if (process) {
		process->memory_bytes = larger(process->memory_bytes, memory_bytes);
		return 0;
	}
	process = CLV_APPEND(reading->processes, reading->n_processes);
	if (!process)
		return -ENOMEM;
	process->pid = pid;
	process->memory_bytes = memory_bytes;
	process->utilization = NAN;
	snprintf(process->partition, sizeof(process->partition), "%s", partition);
	return 0;
}

void clv_reading_set_utilization(struct clv_reading *reading, uint32_t pid,
	const char *partition, double utilization)
{
	struct clv_reading_process *process = find_process(reading, pid, partition);

	if (process)
		process->utilization = utilization;
}
