/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's one-second tick.  What it samples is for display; nothing that controls the
 * device depends on it. */
#include "agent/main/sampler.h"

#include "agent/api/idempotency.h"
#include "agent/device/devices.h"
#include "agent/event/counters.h"
#include "agent/event/events.h"
#include "agent/history/history.h"
#include "agent/history/usage.h"
#include "agent/layout/ephemeral-partitions.h"
#include "agent/lease/affinity.h"
#include "agent/lease/attached.h"
#include "agent/lease/debts.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/ranges.h"
#include "agent/lifecycle/force.h"
#include "agent/main/repair.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "agent/watch/watchdog.h"
#include "arbiter/arbiter.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define PERIOD_US 1000000u
#define ACCURACY_US 20000u
#define SAVE_EVERY 10u
#define RECOUNT_EVERY 60u
#define FORGET_EVERY 3600u

struct clv_sampler {
	struct clv_agent *agent;
	sd_event_source *timer;
	unsigned int n_ticks;
	uint64_t n_changes_seen;
};

static void report_growth(struct clv_lease *lease, enum clv_event_type type, uint64_t now,
	uint64_t *seen, const char *what)
{
	/* The sum shrinks when a process ends and its counters are gone. */
	if (now > *seen)
		clv_lease_emit(lease, type, "%" PRIu64 " more %s", now - *seen, what);
	*seen = now;
}

static void sample(struct clv_lease *lease)
{
	struct clv_arbiter_sample now;

	clv_lease_sample(lease, &now);
	clv_usage_add(lease->agent->usage, lease, &now);
	lease->samples[0] = lease->samples[1];
	lease->samples[1].time_ns = clv_clock_ns();
	lease->samples[1].held_ns = now.held_ns;
	clv_arbiter_publish_used(lease->arbiter_lease, clv_lease_share_used(lease));
	report_growth(lease, CLV_EVENT_MEMORY_REFUSED, now.refused, &lease->seen_refused,
		"allocations over the memory quota were refused");
	report_growth(lease, CLV_EVENT_DRAIN_OVERDUE, now.overdue, &lease->seen_overdue,
		"turns did not give the device back in time");
	clv_watchdog_add_sample(lease, &now);
	clv_attached_check(lease);
}

void clv_sampler_save(struct clv_agent *agent)
{
	struct clv_store *store = clv_state_get(agent, NULL);
	const struct clv_lease *lease;
	int r;

	if (!store || LIST_EMPTY(&agent->in_use))
		return;
	r = clv_store_begin(store, true, NULL);
	if (r < 0)
		return;
	LIST_FOREACH(lease, &agent->in_use, of_use)
	{
		struct clv_lease_record record;

		if (r < 0)
			break;
		clv_lease_snapshot(lease, &record);
		r = clv_store_put_lease(store, &record, NULL);
	}
	for (size_t i = 0; r >= 0 && i < clv_devices_count(agent->devices); i++)
		r = clv_debts_put(store, clv_devices_at(agent->devices, i), NULL);
	if (r < 0 || clv_store_commit(store, NULL) < 0) {
		agent->state->n_errors++;
		clv_store_rollback(store);
	}
}

static void add_idle(struct clv_agent *agent)
{
	struct clv_lease *lease;

	clv_usage_begin(agent->usage);
	TAILQ_FOREACH(lease, clv_ledger_leases(agent->ledger), entry)
	{
		if (!lease->arbiter_lease)
			clv_usage_add_idle(agent->usage, lease);
	}
	clv_usage_save_idle(agent->usage);
}

/* Leases without processes are summed up only after a change of any lease and once a
 * minute, and cost nothing at other ticks. */
static void sample_all(struct clv_sampler *sampler)
{
	struct clv_agent *agent = sampler->agent;
	bool has_changed = agent->n_changes != sampler->n_changes_seen ||
			   sampler->n_ticks % RECOUNT_EVERY == 0;
	struct clv_lease *lease;

	if (LIST_EMPTY(&agent->in_use) && !has_changed)
		return;
	sampler->n_changes_seen = agent->n_changes;
	if (has_changed)
		add_idle(agent);
	else
		clv_usage_begin_from_saved(agent->usage);
	LIST_FOREACH(lease, &agent->in_use, of_use)
	{
		sample(lease);
		clv_affinity_hold(lease);
	}
	clv_ranges_tick(agent);
}

static int on_tick(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_sampler *sampler = userdata;
	struct clv_agent *agent = sampler->agent;

	sample_all(sampler);
	clv_history_tick(agent->history);
	clv_force_end_expired(agent);
	clv_ephemeral_tick(agent->ephemeral);
	clv_watchdog_tick(agent->watchdog);
	clv_repair_state(agent);
	clv_events_flush(agent->events);
	if (++sampler->n_ticks % SAVE_EVERY == 0)
		clv_sampler_save(agent);
	if (sampler->n_ticks % FORGET_EVERY == 0)
		clv_idempotency_forget(agent);
	sd_event_source_set_time(source, now_us + PERIOD_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int clv_sampler_new(
	struct clv_agent *agent, struct clv_sampler **ret, struct clv_error *err)
{
	struct clv_sampler *sampler = calloc(1, sizeof(*sampler));
	int r;

	if (!sampler)
		return clv_error_errno(err, ENOMEM, "cannot sample leases");
	sampler->agent = agent;
	r = sd_event_add_time_relative(agent->event, &sampler->timer, CLOCK_MONOTONIC,
		PERIOD_US, ACCURACY_US, on_tick, sampler);
	if (r < 0) {
		free(sampler);
		return clv_error_errno(err, -r, "cannot sample leases");
	}
	*ret = sampler;
	return 0;
}

struct clv_sampler *clv_sampler_free(struct clv_sampler *sampler)
{
	if (!sampler)
		return NULL;
	sd_event_source_disable_unref(sampler->timer);
	free(sampler);
	return NULL;
}
