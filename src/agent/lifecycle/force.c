/* SPDX-License-Identifier: Apache-2.0 */
/* Ends leases by force: SIGTERM to their processes, and SIGKILL after a time. */
#include "agent/lifecycle/force.h"

#include "agent/lease/attached.h"
#include "agent/lease/lease.h"
#include "agent/lease/time-limit.h"
#include "agent/ledger/ledger.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/record/agent.h"
#include "base/clock.h"

#include <assert.h>
#include <signal.h>

#define FORCE_TIMEOUT_US 5000000u

static void signal_processes(const struct clv_lease *lease, int signal_number)
{
	const struct clv_attached *process;

	TAILQ_FOREACH(process, &lease->processes, entry)
	clv_watch_signal(process->watch, signal_number);
}

static int on_force_timeout(sd_event_source *source, uint64_t now_us, void *userdata)
{
	signal_processes(userdata, SIGKILL);
	return 0;
}

void clv_force_end(struct clv_lease *lease)
{
	assert(lease->agent->lifecycle);
	if (lease->n_processes == 0) {
		clv_lifecycle_end(lease->agent->lifecycle, lease, "released");
		return;
	}
	if (lease->is_ending)
		return;
	lease->is_ending = true;
	signal_processes(lease, SIGTERM);
	sd_event_add_time_relative(lease->agent->event, &lease->ending_timer,
		CLOCK_MONOTONIC, FORCE_TIMEOUT_US, 0, on_force_timeout, lease);
}

static struct clv_lease *find_below(
	const struct clv_agent *agent, const struct clv_agent_device *device)
{
	struct clv_lease *lease;

	TAILQ_FOREACH(lease, clv_ledger_leases(agent->ledger), entry)
	{
		/* A virtual machine keeps its partition. */
		if (clv_lease_is_below(lease, device) && !lease->is_ending &&
			lease->record.vm[0] == '\0')
			return lease;
	}
	return NULL;
}

void clv_force_end_all(struct clv_agent *agent, const struct clv_agent_device *device)
{
	struct clv_lease *lease;

	while ((lease = find_below(agent, device)))
		clv_force_end(lease);
}

static struct clv_lease *find_expired(const struct clv_agent *agent)
{
	uint64_t boot_ns = clv_clock_boot_ns(), real_ns = clv_clock_real_ns();
	struct clv_lease *lease;

	if (agent->n_expiring == 0)
		return NULL;
	TAILQ_FOREACH(lease, clv_ledger_leases(agent->ledger), entry)
	{
		if (!lease->is_ending &&
			clv_time_limit_is_over(&lease->record, boot_ns, real_ns))
			return lease;
	}
	return NULL;
}

void clv_force_end_expired(struct clv_agent *agent)
{
	struct clv_lease *lease;

	while ((lease = find_expired(agent))) {
		clv_lease_emit(lease, CLV_EVENT_LEASE_EXPIRED, "its time has expired");
		clv_force_end(lease);
	}
}
