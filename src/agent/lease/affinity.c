/* SPDX-License-Identifier: Apache-2.0 */
/* Corrects the affinity of threads that left the processors of their lease's
 * partition. */
#include "agent/lease/affinity.h"

#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/lease/lease.h"
#include "base/cpus.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns how many threads of the process were moved back to cpus. */
static unsigned hold_process(pid_t pid, const cpu_set_t *cpus)
{
	const struct dirent *entry;
	unsigned n_moved = 0;
	cpu_set_t now, outside;
	char path[48];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread <= 0 || sched_getaffinity(thread, sizeof(now), &now) < 0)
			continue;
		CPU_OR(&outside, &now, cpus);
		if (CPU_EQUAL(&outside, cpus))
			continue;
		/* Keep the thread's own choice as far as it is within cpus. */
		CPU_AND(&now, &now, cpus);
		if (sched_setaffinity(
			    thread, sizeof(now), CPU_COUNT(&now) > 0 ? &now : cpus) == 0)
			n_moved++;
	}
	if (threads)
		closedir(threads);
	return n_moved;
}

void clv_affinity_hold(struct clv_lease *lease)
{
	const struct clv_device *info = &lease->device->info;
	const struct clv_attached *process;
	cpu_set_t cpus;

	if (strcmp(info->scheme, "cores") != 0 ||
		clv_cpus_parse(info->address, &cpus) < 0)
		return;
	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		unsigned n = hold_process(process->record.id.pid, &cpus);

		if (n > 0)
			clv_lease_emit(lease, CLV_EVENT_PROCESS_STRAYED,
				"process %d left the processors %.40s with %u %s, which "
				"the agent moved back",
				(int)process->record.id.pid, info->address, n,
				n == 1 ? "thread" : "threads");
	}
}
