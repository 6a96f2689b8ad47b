/* SPDX-License-Identifier: Apache-2.0 */
/* A driver's utilization covers the last second or less, the held time of a lease the
 * time between two readings; so the means of both over several readings are compared,
 * with a tolerance.  The held time is never less than the time of the work that passed
 * the gate: the device is held until all of that work has completed. */
#include "agent/watch/bypass-detect.h"

#include "agent/config/config.h"
#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/lease/executor.h"
#include "agent/record/agent.h"
#include "arbiter/arbiter.h"
#include "base/clock.h"

#include <math.h>
#include <string.h>

#define NEW_PART 0.25  /* weight of the last reading in the mean */
#define TOLERATED 0.20 /* of the device */

/* A lease that never attached is checked as well: it had no turns, so its held time is 0.
 * amdgpu reports an instant, and the mean of few instants is no utilization. */
static bool has_gate(const struct clv_agent_device *device)
{
	return !device->parent && strcmp(clv_executor_name(device), "none") != 0 &&
	       strcmp(device->info.backend, "amd") != 0;
}

static double take_held(struct clv_lease *lease, uint64_t now_ns)
{
	struct clv_lease_work *work = &lease->observed.work;
	struct clv_arbiter_sample sample;
	double held = NAN;

	clv_lease_sample(lease, &sample);
	if (work->looked_ns > 0 && now_ns > work->looked_ns)
		held = (double)(sample.held_ns - work->held_ns) /
		       (double)(now_ns - work->looked_ns);
	work->looked_ns = now_ns;
	work->held_ns = sample.held_ns;
	return held;
}

static void blend(double *mean, double value)
{
	*mean += NEW_PART * (value - *mean);
}

static void report(struct clv_lease *lease)
{
	struct clv_lease_work *work = &lease->observed.work;
	bool is_ended = lease->agent->settings->past_gate == CLV_WATCH_END;

	work->bypasses_gate = true;
	clv_lease_emit(lease, CLV_EVENT_LEASE_PAST_GATE,
		"the driver reports that it computes %.0f %% of the time, and its turns "
		"were %.0f %%: some of its work bypasses its gate: %s",
		100 * work->mean_utilization, 100 * work->mean_held,
		is_ended ? "its processes are ended" : "it is only reported");
}

static void act(
	struct clv_lease *lease, struct clv_driver_processes *processes, uint64_t now_ns)
{
	struct clv_lease_work *work = &lease->observed.work;

	if (work->over_ns == 0)
		work->over_ns = now_ns;
	if (now_ns - work->over_ns < lease->agent->settings->grace_ns)
		return;
	if (!work->bypasses_gate)
		report(lease);
	if (lease->agent->settings->past_gate == CLV_WATCH_END)
		clv_driver_processes_end(processes, lease, now_ns);
}

void clv_bypass_check(struct clv_lease *lease,
	const struct clv_driver_processes_total *total,
	struct clv_driver_processes *processes)
{
	struct clv_lease_work *work = &lease->observed.work;
	uint64_t now_ns = clv_clock_ns();
	double held;

	work->utilization = total->utilization;
	work->is_known = !isnan(total->utilization);
	if (!work->is_known || !has_gate(lease->device))
		return;
	held = take_held(lease, now_ns);
	if (isnan(held))
		return;
	blend(&work->mean_utilization, total->utilization);
	blend(&work->mean_held, held);
	if (work->mean_utilization > work->mean_held + TOLERATED) {
		act(lease, processes, now_ns);
		return;
	}
	work->over_ns = 0;
	if (work->bypasses_gate)
		clv_lease_emit(lease, CLV_EVENT_LEASE_WITHIN_GATE,
			"the driver reports that it computes only in its turns again");
	work->bypasses_gate = false;
}

void clv_bypass_forget(struct clv_lease *lease)
{
	lease->observed.work = (struct clv_lease_work){0};
}
