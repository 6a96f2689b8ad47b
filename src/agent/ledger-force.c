/* SPDX-License-Identifier: Apache-2.0 */
/* Ends leases that have processes: asks them first, and kills them when they stay. */
#include "agent/agent.h"
#include "agent/attached.h"
#include "agent/lease.h"
#include "agent/ledger.h"

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

void clv_ledger_end_by_force(struct clv_ledger *ledger, struct clv_lease *lease)
{
	if (lease->n_processes == 0) {
		clv_ledger_end(ledger, lease, "released");
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
	struct clv_ledger *ledger, const struct clv_agent_device *device)
{
	struct clv_lease *lease;

	TAILQ_FOREACH(lease, clv_ledger_leases(ledger), entry)
	{
		if (clv_lease_is_below(lease, device) && !lease->is_ending)
			return lease;
	}
	return NULL;
}

void clv_ledger_end_all(struct clv_ledger *ledger, const struct clv_agent_device *device)
{
	struct clv_lease *lease;

	while ((lease = find_below(ledger, device)))
		clv_ledger_end_by_force(ledger, lease);
}
