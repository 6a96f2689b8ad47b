/* SPDX-License-Identifier: Apache-2.0 */
/* The one-second tick of the watchdog: readings of the drivers, lost devices, hangs. */
#include "agent/watch/watchdog.h"

#include "agent/config/config.h"
#include "agent/device/condition.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/lease/executor.h"
#include "agent/lease/machine.h"
#include "agent/ledger/ledger.h"
#include "agent/os/pci-driver.h"
#include "agent/record/agent.h"
#include "agent/watch/enforce.h"
#include "agent/watch/ungated.h"
#include "arbiter/arbiter.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SURVEY_EVERY 60u /* in ticks, while a device is lost */

struct clv_watchdog {
	struct clv_agent *agent;
	struct clv_driver_processes processes;
	struct clv_ungated *ungated;
	unsigned int n_ticks;
	unsigned int n_hurried; /* of the next ticks at which to sample in any case */
	/* No driver reports anything: no sampling until the next survey. */
	bool is_silent;
};

/* A device that is assigned as a whole to a virtual machine is bound to VFIO, so its own
 * driver does not show it: such a device is not lost. */
static bool is_passed(const struct clv_agent_device *device)
{
	for (size_t i = 0; i < device->n_leases; i++) {
		if (clv_machine_has_whole(device->leases[i]))
			return clv_pci_is_passed(device->info.pci_address);
	}
	return false;
}

/* Or its driver is told to leave it to VFIO. */
static bool is_away(const struct clv_agent *agent, const struct clv_agent_device *device)
{
	return is_passed(device) ||
	       clv_hardware_is_closed(agent->hardware, device->info.pci_address);
}

static void set_passed(struct clv_agent *agent, struct clv_agent_device *device)
{
	struct clv_reading reading;

	clv_reading_begin(&reading, device->info.uuid);
	clv_condition_update(agent, device, &reading);
}

/* Between the unbinding from its driver and the binding to VFIO a device is lost for a
 * moment.  Returns whether a device is back at its driver, so that a survey shows it. */
static bool update_passed(struct clv_agent *agent)
{
	bool is_back = false;

	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);
		bool is_lost = clv_condition_state(device) == CLV_HEALTH_LOST;

		if (device->parent || !device->condition)
			continue;
		if (is_lost && is_away(agent, device))
			set_passed(agent, device);
		else if (!is_lost && !device->is_present && !is_away(agent, device))
			is_back = true;
	}
	return is_back;
}

/* Readings. */

static void take_reading(struct clv_watchdog *watchdog, const struct clv_reading *reading)
{
	struct clv_agent *agent = watchdog->agent;
	struct clv_agent_device *device = clv_devices_find(agent->devices, reading->uuid);
	struct clv_reading copy = *reading;

	if (!device || device->parent)
		return;
	if (reading->has_processes) {
		clv_driver_processes_take(&watchdog->processes, agent, device, reading);
		clv_enforce(agent, device, &watchdog->processes,
			reading->has_mean_utilization);
	}
	/* Processes are kept here, and the condition keeps the rest. */
	copy.processes = NULL;
	copy.n_processes = 0;
	if (copy.signs[CLV_SIGN_LOST] && is_passed(device))
		copy.signs[CLV_SIGN_LOST] = 0;
	clv_condition_update(agent, device, &copy);
}

/* The worker was killed after a timeout: it is unknown which driver hung, so all devices
 * are marked. */
static void mark_all_silent(struct clv_watchdog *watchdog)
{
	struct clv_agent *agent = watchdog->agent;

	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (!device->parent && device->condition)
			clv_condition_set_missing(agent, device, CLV_SIGN_SILENT);
	}
}

static void on_readings(void *userdata, const struct clv_error *err)
{
	struct clv_watchdog *watchdog = userdata;
	const struct clv_readings *readings =
		clv_hardware_readings(watchdog->agent->hardware);

	if (err->code == -ETIMEDOUT)
		mark_all_silent(watchdog);
	if (err->code != 0)
		return;
	for (size_t i = 0; i < readings->n; i++)
		take_reading(watchdog, &readings->items[i]);
	watchdog->is_silent = readings->n == 0;
}

void clv_watchdog_surveyed(struct clv_watchdog *watchdog)
{
	struct clv_agent *agent = watchdog->agent;

	watchdog->is_silent = false;
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (device->parent || !device->condition)
			continue;
		if (device->is_present)
			clv_condition_set_found(agent, device);
		else if (is_away(agent, device))
			set_passed(agent, device);
		else
			clv_condition_set_missing(agent, device, CLV_SIGN_LOST);
	}
}

static bool is_any_lost(const struct clv_agent *agent)
{
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		const struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (!device->parent && clv_condition_state(device) == CLV_HEALTH_LOST)
			return true;
	}
	return false;
}

/* Leases whose work hangs. */

void clv_watchdog_add_sample(
	struct clv_lease *lease, const struct clv_arbiter_sample *sample)
{
	struct clv_lease_observed *observed = &lease->observed;
	uint64_t now_ns = clv_clock_ns();

	observed->noted_bytes = sample->memory_used_bytes - sample->memory_overhead_bytes;
	if (!sample->in_flight || sample->done != observed->done ||
		observed->progress_ns == 0) {
		observed->done = sample->done;
		observed->overdue = sample->overdue;
		observed->progress_ns = now_ns;
	}
	/* Long work is no hang unless other leases wait: then it is overdue. */
	observed->is_stuck =
		sample->overdue > observed->overdue &&
		now_ns - observed->progress_ns >= lease->agent->settings->hang_ns;
}

static bool has_stuck(const struct clv_agent_device *device)
{
	for (size_t i = 0; device->arbiter && i < device->n_leases; i++) {
		if (device->leases[i]->observed.is_stuck)
			return true;
	}
	return false;
}

/* A hang on a partition degrades the whole device. */
static void update_hangs(struct clv_agent *agent)
{
	uint64_t seconds = agent->settings->hang_ns / CLV_NS_PER_S;
	size_t n = clv_devices_count(agent->devices);

	for (size_t i = 0; i < n; i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);
		bool is_hanging = false;

		for (size_t j = 0; j < n && !device->parent && !is_hanging; j++) {
			struct clv_agent_device *part = clv_devices_at(agent->devices, j);

			is_hanging = clv_devices_root(part) == device && has_stuck(part);
		}
		if (!device->parent)
			clv_condition_set_hang(agent, device, is_hanging, seconds);
	}
}

void clv_watchdog_tick(struct clv_watchdog *watchdog)
{
	struct clv_agent *agent = watchdog->agent;
	uint32_t every_s = agent->settings->watch_every_s;
	bool is_due, is_back;

	watchdog->n_ticks++;
	clv_ungated_tick(watchdog->ungated);
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++)
		clv_executor_tick(clv_devices_at(agent->devices, i));
	update_hangs(agent);
	is_back = update_passed(agent);
	if (is_back || (watchdog->n_ticks % SURVEY_EVERY == 0 && is_any_lost(agent)))
		clv_hardware_survey(agent->hardware);
	if (every_s == 0)
		return;
	is_due = watchdog->n_ticks % every_s == 0 || watchdog->n_hurried > 0;
	if (watchdog->n_hurried > 0)
		watchdog->n_hurried--;
	if (is_due && !watchdog->is_silent &&
		clv_hardware_last_survey(agent->hardware) > 0)
		clv_hardware_sample(agent->hardware, on_readings, watchdog);
}

void clv_watchdog_sample_soon(struct clv_watchdog *watchdog)
{
	watchdog->n_hurried = CLV_OVERHEADS + 1;
}

const struct clv_driver_processes *clv_watchdog_processes(
	const struct clv_watchdog *watchdog)
{
	return &watchdog->processes;
}

int clv_watchdog_new(
	struct clv_agent *agent, struct clv_watchdog **ret, struct clv_error *err)
{
	struct clv_watchdog *watchdog = calloc(1, sizeof(*watchdog));

	if (watchdog)
		watchdog->ungated = clv_ungated_new(agent);
	if (!watchdog || !watchdog->ungated) {
		free(watchdog);
		return clv_error_errno(err, ENOMEM, "cannot start the watchdog");
	}
	watchdog->agent = agent;
	*ret = watchdog;
	return 0;
}

struct clv_watchdog *clv_watchdog_free(struct clv_watchdog *watchdog)
{
	if (!watchdog)
		return NULL;
	clv_hardware_cancel(watchdog->agent->hardware, watchdog);
	clv_ungated_free(watchdog->ungated);
	free(watchdog->processes.items);
	free(watchdog);
	return NULL;
}
