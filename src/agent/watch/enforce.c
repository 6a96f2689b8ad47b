/* SPDX-License-Identifier: Apache-2.0 */
/* Enforces the settings of the watchdog: leases over their quota, and processes without a
 * lease. */
#include "agent/watch/enforce.h"

#include "agent/auth/caller.h"
#include "agent/config/config.h"
#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/ledger/ledger.h"
#include "agent/os/stat.h"
#include "agent/record/agent.h"
#include "agent/user/owner.h"
#include "agent/watch/bypass-detect.h"
#include "agent/watch/overhead.h"
#include "arbiter/arbiter.h"
#include "base/clock.h"
#include "base/units.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct pass {
	struct clv_agent *agent;
	struct clv_driver_processes *processes;
	uint64_t now_ns;
	bool has_mean_utilization;
};

/* Leases over their quota. */

static void throttle(struct clv_lease *lease, bool is_wanted)
{
	struct clv_share share;

	if (!lease->arbiter_lease || lease->observed.is_throttled == is_wanted)
		return;
	lease->observed.is_throttled = is_wanted;
	share = clv_lease_enforced_share(lease);
	clv_arbiter_update(lease->device->arbiter, lease->arbiter_lease, &share);
}

static const char *policy_text(const struct clv_lease *lease)
{
	switch (lease->agent->settings->over_quota) {
	case CLV_WATCH_THROTTLE:
		return lease->arbiter_lease ? "it is throttled to a tenth of its share "
					      "until it is within"
					    : "it cannot be throttled, as no process of "
					      "it is attached";
	case CLV_WATCH_END:
		return "its processes are ended";
	default:
		return "it is only reported";
	}
}

static void report_over(struct clv_lease *lease)
{
	char held[32], quota[32];

	clv_units_format_bytes(lease->observed.memory_bytes, held);
	clv_units_format_bytes(lease->record.share.memory_bytes, quota);
	lease->observed.is_over = true;
	clv_lease_emit(lease, CLV_EVENT_LEASE_OVER_QUOTA,
		"the driver reports that it holds %s, with a quota of %s: %s", held,
		quota, policy_text(lease));
}

static void act_on_over(const struct pass *pass, struct clv_lease *lease)
{
	const struct clv_config *settings = pass->agent->settings;
	struct clv_lease_observed *observed = &lease->observed;

	observed->within_ns = 0;
	if (observed->over_ns == 0)
		observed->over_ns = pass->now_ns;
	if (pass->now_ns - observed->over_ns < settings->grace_ns)
		return;
	if (!observed->is_over)
		report_over(lease);
	if (settings->over_quota == CLV_WATCH_THROTTLE)
		throttle(lease, true);
	if (settings->over_quota == CLV_WATCH_END)
		clv_driver_processes_end(pass->processes, lease, pass->now_ns);
}

static void act_on_within(const struct pass *pass, struct clv_lease *lease)
{
	struct clv_lease_observed *observed = &lease->observed;

	observed->over_ns = 0;
	if (!observed->is_over)
		return;
	if (observed->within_ns == 0)
		observed->within_ns = pass->now_ns;
	if (pass->now_ns - observed->within_ns < pass->agent->settings->grace_ns)
		return;
	observed->is_over = false;
	throttle(lease, false);
	clv_lease_emit(lease, CLV_EVENT_LEASE_WITHIN_QUOTA,
		"the driver reports that it is within its quota again");
}

static void check_memory(const struct pass *pass, struct clv_lease *lease,
	const struct clv_driver_processes_total *total)
{
	struct clv_lease_observed *observed = &lease->observed;
	uint64_t allowed_bytes = lease->record.share.memory_bytes +
				 total->n * pass->agent->settings->tolerance_bytes;

	clv_overhead_take(lease, total);
	observed->is_known = total->memory_bytes != CLV_READING_UNKNOWN;
	observed->memory_bytes = total->memory_bytes;
	if (observed->is_known && observed->memory_bytes > allowed_bytes)
		act_on_over(pass, lease);
	else
		act_on_within(pass, lease);
}

/* A lease on several devices has them whole and no quota. */
static void check_lease(const struct pass *pass, struct clv_lease *lease)
{
	struct clv_driver_processes_total total;

	if (lease->record.is_queued || lease->n_others > 0)
		return;
	clv_driver_processes_sum(pass->processes, lease, &total);
	check_memory(pass, lease, &total);
	if (pass->has_mean_utilization)
		clv_bypass_check(lease, &total, pass->processes);
	else
		clv_bypass_forget(lease);
}

/* Processes without a lease. */

/* The agent's own children use devices for tests and queries. */
static bool is_self(void *userdata, const struct clv_process_id *id)
{
	return id->pid == getpid();
}

/* Compares the file, by device and inode: a process can choose its name, and paths differ
 * between mount namespaces. */
static bool is_ignored(const struct clv_config *settings, pid_t pid)
{
	struct statx runs, program;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (settings->n_ignored == 0 || !clv_stat_known(AT_FDCWD, path, &runs))
		return false;
	for (size_t i = 0; i < settings->n_ignored; i++) {
		if (clv_stat_known(AT_FDCWD, settings->ignored[i], &program) &&
			clv_stat_is_same(&program, &runs))
			return true;
	}
	return false;
}

static void explain(const struct clv_driver_process *entry, char *ret, size_t ret_bytes)
{
	switch (entry->kind) {
	case CLV_DRIVER_PROCESS_MISPLACED:
		snprintf(ret, ret_bytes, "its lease %s is on another device",
			entry->lease_name);
		break;
	case CLV_DRIVER_PROCESS_LEFT_OVER:
		snprintf(ret, ret_bytes, "its lease %s has ended", entry->lease_name);
		break;
	default:
		snprintf(ret, ret_bytes, "it is in no lease: start it with cleave run");
	}
}

/* The owner of the process: the tenant of its lease, else the owner that it would have as
 * a caller of the API.  A process of an unknown user is shown to admins. */
static uid_t owner_of(
	const struct clv_agent *agent, const struct clv_driver_process *entry)
{
	const char *cgroup;

	if (entry->kind != CLV_DRIVER_PROCESS_UNLEASED)
		return entry->lease_owner;
	cgroup = clv_caller_cgroup_tenant(agent, &entry->id);
	if (cgroup)
		return clv_owner_of(cgroup, entry->uid);
	return entry->uid == CLV_CALLER_NO_UID ? 0 : entry->uid;
}

static void report_stranger(struct clv_agent *agent, struct clv_driver_process *entry)
{
	char what[160], why[120], held[32] = "unknown memory", busy[48] = "";

	clv_driver_process_describe(entry, what, sizeof(what));
	explain(entry, why, sizeof(why));
	if (entry->memory_bytes != CLV_READING_UNKNOWN)
		clv_units_format_bytes(entry->memory_bytes, held);
	if (entry->utilization > 0)
		snprintf(busy, sizeof(busy), " and %.0f %% of its compute",
			100 * entry->utilization);
	entry->is_reported = true;
	clv_events_emit_for_owner(agent, CLV_EVENT_PROCESS_WITHOUT_LEASE,
		owner_of(agent, entry), entry->device->info.name,
		"%s uses it with %s%s: %s", what, held, busy, why);
}

static void check_stranger(const struct pass *pass, struct clv_driver_process *entry)
{
	const struct clv_config *settings = pass->agent->settings;

	if (entry->kind == CLV_DRIVER_PROCESS_LEASED ||
		is_ignored(settings, entry->id.pid) ||
		clv_process_has_ancestor(entry->id.pid, is_self, NULL) ||
		pass->now_ns - entry->first_ns < settings->grace_ns)
		return;
	if (!entry->is_reported)
		report_stranger(pass->agent, entry);
	/* A process that is not known to be a tenant's may be the system's: never end
	 * it. */
	if (settings->no_lease == CLV_WATCH_END &&
		entry->kind != CLV_DRIVER_PROCESS_UNLEASED)
		clv_driver_process_end(entry, pass->now_ns);
}

static bool has_processes(const struct clv_driver_processes *processes,
	const struct clv_agent_device *device)
{
	for (size_t i = 0; i < processes->n; i++) {
		if (clv_devices_root(processes->items[i].device) == device)
			return true;
	}
	return false;
}

/* Checks all leases of a device; whether any has state that the next pass must update. */
static bool check_leases(const struct pass *pass, const struct clv_agent_device *device)
{
	struct clv_devices *devices = pass->agent->devices;
	bool is_any = false;

	for (size_t i = 0; i < clv_devices_count(devices); i++) {
		struct clv_agent_device *part = clv_devices_at(devices, i);

		for (size_t j = 0; clv_devices_root(part) == device && j < part->n_leases;
			j++) {
			const struct clv_lease_observed *observed =
				&part->leases[j]->observed;

			check_lease(pass, part->leases[j]);
			is_any |= observed->is_known || observed->work.is_known ||
				  observed->is_over || observed->over_ns > 0;
		}
	}
	return is_any;
}

void clv_enforce(struct clv_agent *agent, struct clv_agent_device *device,
	struct clv_driver_processes *processes, bool has_mean_utilization)
{
	struct pass pass = {.agent = agent,
		.processes = processes,
		.now_ns = clv_clock_ns(),
		.has_mean_utilization = has_mean_utilization};

	assert(!device->parent);
	/* Skip a device that had no process before and has none now: it may have ten
	 * thousand leases. */
	if (device->is_enforced || has_processes(processes, device))
		device->is_enforced = check_leases(&pass, device);
	for (size_t i = 0; i < processes->n; i++) {
		if (clv_devices_root(processes->items[i].device) == device)
			check_stranger(&pass, &processes->items[i]);
	}
}
