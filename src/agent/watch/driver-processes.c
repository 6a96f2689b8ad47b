/* SPDX-License-Identifier: Apache-2.0 */
/* Matches the processes that drivers report with leases, through their ancestors. */
#include "agent/watch/driver-processes.h"

#include "agent/auth/caller.h"
#include "agent/device/devices.h"
#include "agent/lease/attached.h"
#include "agent/lease/holder.h"
#include "agent/ledger/ledger.h"
#include "agent/record/agent.h"
#include "agent/user/owner.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The lease of a process. */

struct search {
	struct clv_agent *agent;
	const struct clv_agent_device *device;
	struct clv_lease *found;
};

/* A lease whose holder is dead is found by its attached processes. */
static bool match(void *userdata, const struct clv_process_id *id)
{
	struct search *search = userdata;
	const struct clv_agent_device *device = search->device;

	search->found = clv_holder_find(search->agent, id, device);
	for (size_t i = 0; !search->found && i < device->n_leases; i++) {
		if (clv_attached_is_member(device->leases[i], id))
			search->found = device->leases[i];
	}
	return search->found != NULL;
}

static struct clv_lease *find_lease(struct clv_agent *agent,
	const struct clv_agent_device *device, const struct clv_process_id *id)
{
	struct search search = {.agent = agent, .device = device};

	clv_process_has_ancestor(id->pid, match, &search);
	return search.found;
}

static void read_command(pid_t pid, char *ret, size_t ret_bytes)
{
	char path[40];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "re");
	ret[0] = '\0';
	if (!file)
		return;
	if (!fgets(ret, (int)ret_bytes, file))
		ret[0] = '\0';
	fclose(file);
	ret[strcspn(ret, "\n")] = '\0';
	/* The process chose the name: make it printable. */
	for (char *p = ret; *p; p++)
		*p = (unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f ? '?' : *p;
}

static uid_t read_uid(pid_t pid)
{
	char path[32];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &status) < 0 ? (uid_t)-1 : status.st_uid;
}

static void set_lease(struct clv_driver_process *entry, const struct clv_lease *lease)
{
	memcpy(entry->lease, lease->record.id, sizeof(entry->lease));
	memcpy(entry->lease_name, lease->record.name, sizeof(entry->lease_name));
	entry->lease_owner = lease->owner;
}

/* A process that was seen in a lease stays in it, also when its ancestors end, and is
 * known as left over when the lease ends. */
static void find_owner(struct clv_agent *agent, struct clv_driver_process *entry)
{
	const struct clv_lease *lease = find_lease(agent, entry->device, &entry->id);

	if (!lease && entry->lease[0] != '\0')
		lease = clv_ledger_find_id(agent->ledger, entry->lease);
	if (lease) {
		set_lease(entry, lease);
		entry->kind =
			!lease->record.is_queued && clv_lease_is_on(lease, entry->device)
				? CLV_DRIVER_PROCESS_LEASED
				: CLV_DRIVER_PROCESS_MISPLACED;
	} else {
		entry->kind = entry->lease[0] ? CLV_DRIVER_PROCESS_LEFT_OVER
					      : CLV_DRIVER_PROCESS_UNLEASED;
	}
}

/* The list. */

static struct clv_driver_process *find(struct clv_driver_processes *processes,
	const struct clv_agent_device *device, const struct clv_process_id *id)
{
	for (size_t i = 0; i < processes->n; i++) {
		struct clv_driver_process *entry = &processes->items[i];

		if (entry->device == device && entry->id.pid == id->pid &&
			entry->id.start_ticks == id->start_ticks)
			return entry;
	}
	return NULL;
}

static struct clv_agent_device *device_of(struct clv_agent *agent,
	struct clv_agent_device *device, const struct clv_reading_process *process)
{
	struct clv_agent_device *part =
		process->partition[0] != '\0'
			? clv_devices_find(agent->devices, process->partition)
			: NULL;

	return part ? part : device;
}

static void add_or_update(struct clv_driver_processes *processes, struct clv_agent *agent,
	struct clv_agent_device *device, const struct clv_reading_process *process)
{
	struct clv_agent_device *place = device_of(agent, device, process);
	struct clv_process_id id = {.pid = (pid_t)process->pid};
	struct clv_driver_process *entry;

	clv_process_read(id.pid, NULL, &id.start_ticks);
	entry = find(processes, place, &id);
	if (!entry) {
		entry = CLV_APPEND(processes->items, processes->n);
		if (!entry)
			return;
		entry->id = id;
		entry->device = place;
		entry->first_ns = clv_clock_ns();
	}
	read_command(id.pid, entry->command, sizeof(entry->command));
	entry->uid = read_uid(id.pid);
	entry->memory_bytes = process->memory_bytes;
	entry->utilization = process->utilization;
	entry->is_now = true;
	find_owner(agent, entry);
}

void clv_driver_processes_take(struct clv_driver_processes *processes,
	struct clv_agent *agent, struct clv_agent_device *device,
	const struct clv_reading *reading)
{
	size_t n = 0;

	assert(!device->parent);
	for (size_t i = 0; i < processes->n; i++) {
		if (clv_devices_root(processes->items[i].device) == device)
			processes->items[i].is_now = false;
	}
	for (size_t i = 0; i < reading->n_processes; i++)
		add_or_update(processes, agent, device, &reading->processes[i]);
	for (size_t i = 0; i < processes->n; i++) {
		if (processes->items[i].is_now)
			processes->items[n++] = processes->items[i];
	}
	processes->n = n;
}

static bool is_of(const struct clv_driver_process *entry, const struct clv_lease *lease)
{
	return entry->kind == CLV_DRIVER_PROCESS_LEASED &&
	       entry->device == lease->device &&
	       strcmp(entry->lease, lease->record.id) == 0;
}

void clv_driver_processes_sum(const struct clv_driver_processes *processes,
	const struct clv_lease *lease, struct clv_driver_processes_total *ret)
{
	struct clv_driver_processes_total total = {0};
	bool has_all = true;

	for (size_t i = 0; i < processes->n; i++) {
		const struct clv_driver_process *entry = &processes->items[i];

		if (!is_of(entry, lease))
			continue;
		total.n++;
		total.memory_bytes += entry->memory_bytes;
		total.utilization += entry->utilization;
		has_all &= entry->memory_bytes != CLV_READING_UNKNOWN;
	}
	if (total.n == 0 || !has_all)
		total.memory_bytes = CLV_READING_UNKNOWN;
	if (total.n == 0)
		total.utilization = NAN;
	*ret = total;
}

void clv_driver_process_end(struct clv_driver_process *entry, uint64_t now_ns)
{
	clv_process_end(&entry->id, now_ns, &entry->ended_ns);
}

void clv_driver_processes_end(struct clv_driver_processes *processes,
	const struct clv_lease *lease, uint64_t now_ns)
{
	for (size_t i = 0; i < processes->n; i++) {
		struct clv_driver_process *entry = &processes->items[i];

		if (entry->kind == CLV_DRIVER_PROCESS_LEASED &&
			strcmp(entry->lease, lease->record.id) == 0)
			clv_driver_process_end(entry, now_ns);
	}
}

void clv_driver_process_describe(
	const struct clv_driver_process *entry, char *ret, size_t ret_bytes)
{
	char user[64];

	clv_owner_name(entry->uid, user, sizeof(user));
	snprintf(ret, ret_bytes, "process %d (%s) of %s", (int)entry->id.pid,
		entry->command[0] ? entry->command : "?",
		entry->uid == (uid_t)-1 ? "an unknown user" : user);
}

static json_t *bytes(uint64_t n)
{
	return n == CLV_READING_UNKNOWN ? json_null() : json_integer((json_int_t)n);
}

static json_t *ratio(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *render(const struct clv_driver_process *entry)
{
	bool is_leased = entry->kind == CLV_DRIVER_PROCESS_LEASED;

	return json_pack("{s:i,s:s,s:o,s:o,s:b,s:b,s:o,s:o}", "pid", (int)entry->id.pid,
		"command", entry->command, "uid",
		entry->uid == (uid_t)-1 ? json_null() : json_integer(entry->uid), "lease",
		entry->kind == CLV_DRIVER_PROCESS_UNLEASED ? json_null()
							   : json_string(entry->lease),
		"has_lease_here", is_leased, "reported", entry->is_reported && !is_leased,
		"memory_bytes", bytes(entry->memory_bytes), "utilization",
		ratio(entry->utilization));
}

json_t *clv_driver_processes_render(const struct clv_driver_processes *processes,
	struct clv_agent_device *device, const struct clv_caller *caller)
{
	json_t *array = json_array();

	for (size_t i = 0; i < processes->n; i++) {
		const struct clv_driver_process *entry = &processes->items[i];
		bool is_own = entry->kind != CLV_DRIVER_PROCESS_UNLEASED &&
			      entry->lease_owner == caller->uid;

		if ((entry->device == device ||
			    clv_devices_root(entry->device) == device) &&
			(caller->scope != CLV_SCOPE_TENANT || is_own))
			json_array_append_new(array, render(entry));
	}
	return array;
}
