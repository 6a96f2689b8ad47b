/* SPDX-License-Identifier: Apache-2.0 */
/* Matches the processes that drivers report with leases, through their ancestors. */
#include "agent/watch/sightings.h"

#include "agent/auth/caller.h"
#include "agent/device/devices.h"
#include "agent/lease/attached.h"
#include "agent/lease/holder.h"
#include "agent/ledger/ledger.h"
#include "agent/os/owner.h"
#include "agent/record/agent.h"
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

static void set_lease(struct clv_sighting *sighting, const struct clv_lease *lease)
{
	memcpy(sighting->lease, lease->record.id, sizeof(sighting->lease));
	memcpy(sighting->lease_name, lease->record.name, sizeof(sighting->lease_name));
	sighting->lease_owner = lease->owner;
}

/* A process that was seen in a lease stays in it, also when its ancestors end, and is
 * known as left over when the lease ends. */
static void find_owner(struct clv_agent *agent, struct clv_sighting *sighting)
{
	const struct clv_lease *lease =
		find_lease(agent, sighting->device, &sighting->id);

	if (!lease && sighting->lease[0] != '\0')
		lease = clv_ledger_find_id(agent->ledger, sighting->lease);
	if (lease) {
		set_lease(sighting, lease);
		sighting->kind = !lease->record.is_queued &&
						 clv_lease_is_on(lease, sighting->device)
					 ? CLV_SIGHTING_LEASED
					 : CLV_SIGHTING_MISPLACED;
	} else {
		sighting->kind = sighting->lease[0] ? CLV_SIGHTING_LEFT_OVER
						    : CLV_SIGHTING_UNLEASED;
	}
}

/* The list. */

static struct clv_sighting *find(struct clv_sightings *sightings,
	const struct clv_agent_device *device, const struct clv_process_id *id)
{
	for (size_t i = 0; i < sightings->n; i++) {
		struct clv_sighting *sighting = &sightings->items[i];

		if (sighting->device == device && sighting->id.pid == id->pid &&
			sighting->id.start_ticks == id->start_ticks)
			return sighting;
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

static void add_or_update(struct clv_sightings *sightings, struct clv_agent *agent,
	struct clv_agent_device *device, const struct clv_reading_process *process)
{
	struct clv_agent_device *place = device_of(agent, device, process);
	struct clv_process_id id = {.pid = (pid_t)process->pid};
	struct clv_sighting *sighting;

	clv_process_read(id.pid, NULL, &id.start_ticks);
	sighting = find(sightings, place, &id);
	if (!sighting) {
		sighting = CLV_APPEND(sightings->items, sightings->n);
		if (!sighting)
			return;
		sighting->id = id;
		sighting->device = place;
		sighting->first_ns = clv_clock_ns();
	}
	read_command(id.pid, sighting->command, sizeof(sighting->command));
	sighting->uid = read_uid(id.pid);
	sighting->memory_bytes = process->memory_bytes;
	sighting->utilization = process->utilization;
	sighting->is_now = true;
	find_owner(agent, sighting);
}

void clv_sightings_take(struct clv_sightings *sightings, struct clv_agent *agent,
	struct clv_agent_device *device, const struct clv_reading *reading)
{
	size_t n = 0;

	assert(!device->parent);
	for (size_t i = 0; i < sightings->n; i++) {
		if (clv_devices_root(sightings->items[i].device) == device)
			sightings->items[i].is_now = false;
	}
	for (size_t i = 0; i < reading->n_processes; i++)
		add_or_update(sightings, agent, device, &reading->processes[i]);
	for (size_t i = 0; i < sightings->n; i++) {
		if (sightings->items[i].is_now)
			sightings->items[n++] = sightings->items[i];
	}
	sightings->n = n;
}

static bool is_of(const struct clv_sighting *sighting, const struct clv_lease *lease)
{
	return sighting->kind == CLV_SIGHTING_LEASED &&
	       sighting->device == lease->device &&
	       strcmp(sighting->lease, lease->record.id) == 0;
}

void clv_sightings_sum(const struct clv_sightings *sightings,
	const struct clv_lease *lease, struct clv_sightings_total *ret)
{
	struct clv_sightings_total total = {0};
	bool has_all = true;

	for (size_t i = 0; i < sightings->n; i++) {
		const struct clv_sighting *sighting = &sightings->items[i];

		if (!is_of(sighting, lease))
			continue;
		total.n++;
		total.memory_bytes += sighting->memory_bytes;
		total.utilization += sighting->utilization;
		has_all &= sighting->memory_bytes != CLV_READING_UNKNOWN;
	}
	if (total.n == 0 || !has_all)
		total.memory_bytes = CLV_READING_UNKNOWN;
	if (total.n == 0)
		total.utilization = NAN;
	*ret = total;
}

void clv_sighting_end(struct clv_sighting *sighting, uint64_t now_ns)
{
	clv_process_end(&sighting->id, now_ns, &sighting->ended_ns);
}

void clv_sightings_end(
	struct clv_sightings *sightings, const struct clv_lease *lease, uint64_t now_ns)
{
	for (size_t i = 0; i < sightings->n; i++) {
		struct clv_sighting *sighting = &sightings->items[i];

		if (sighting->kind == CLV_SIGHTING_LEASED &&
			strcmp(sighting->lease, lease->record.id) == 0)
			clv_sighting_end(sighting, now_ns);
	}
}

void clv_sighting_describe(
	const struct clv_sighting *sighting, char *ret, size_t ret_bytes)
{
	char user[64];

	clv_owner_name(sighting->uid, user, sizeof(user));
	snprintf(ret, ret_bytes, "process %d (%s) of %s", (int)sighting->id.pid,
		sighting->command[0] ? sighting->command : "?",
		sighting->uid == (uid_t)-1 ? "an unknown user" : user);
}

static json_t *bytes(uint64_t n)
{
	return n == CLV_READING_UNKNOWN ? json_null() : json_integer((json_int_t)n);
}

static json_t *ratio(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *render(const struct clv_sighting *sighting)
{
	bool is_leased = sighting->kind == CLV_SIGHTING_LEASED;

	return json_pack("{s:i,s:s,s:o,s:o,s:b,s:b,s:o,s:o}", "pid",
		(int)sighting->id.pid, "command", sighting->command, "uid",
		sighting->uid == (uid_t)-1 ? json_null() : json_integer(sighting->uid),
		"lease",
		sighting->kind == CLV_SIGHTING_UNLEASED ? json_null()
							: json_string(sighting->lease),
		"has_lease_here", is_leased, "reported",
		sighting->is_reported && !is_leased, "memory_bytes",
		bytes(sighting->memory_bytes), "utilization",
		ratio(sighting->utilization));
}

json_t *clv_sightings_render(const struct clv_sightings *sightings,
	struct clv_agent_device *device, const struct clv_caller *caller)
{
	json_t *array = json_array();

	for (size_t i = 0; i < sightings->n; i++) {
		const struct clv_sighting *sighting = &sightings->items[i];
		bool is_own = sighting->kind != CLV_SIGHTING_UNLEASED &&
			      sighting->lease_owner == caller->uid;

		if ((sighting->device == device ||
			    clv_devices_root(sighting->device) == device) &&
			(caller->scope != CLV_SCOPE_TENANT || is_own))
			json_array_append_new(array, render(sighting));
	}
	return array;
}
