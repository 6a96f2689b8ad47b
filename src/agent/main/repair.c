/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites the ledger once the state file can be written again. */
#include "agent/main/repair.h"

#include "agent/apply/apply.h"
#include "agent/auth/tokens.h"
#include "agent/device/cordons.h"
#include "agent/event/events.h"
#include "agent/identity/names.h"
#include "agent/layout/ephemeral-partitions.h"
#include "agent/layout/reapply.h"
#include "agent/lease/holder.h"
#include "agent/lease/lease-store.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/standing.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/main/adopt.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/error.h"
#include "base/log.h"

#include <unistd.h>

/* Retries to open a file that could not be opened at the start, and reads what the start
 * would have read, or has read from a copy. */
static void reopen(struct clv_agent *agent)
{
	struct clv_error err = {0};

	if (!clv_state_reopen(agent))
		return;
	clv_log_info("the state file can be used again");
	clv_events_renumber(agent->events);
	if (agent->tokens && clv_tokens_read(agent->tokens, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	clv_standing_read(agent->standing);
	clv_ephemeral_read(agent->ephemeral);
	/* The file still has leases of the copy that have ended since. */
	if (!agent->state->was_copied)
		clv_adopt_all(agent);
	clv_cordons_restore(agent);
	clv_apply_resume(agent->apply);
	clv_reapply_begin(agent->reapply);
	agent->state->is_stale = true;
}

static int write_lease(
	struct clv_agent *agent, const struct clv_lease *lease, struct clv_error *err)
{
	const struct clv_attached *process;
	struct clv_lease_record record;
	int r;

	clv_lease_snapshot(lease, &record);
	r = clv_lease_store_put(agent, lease, &record, err);

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		if (r >= 0)
			r = clv_store_put_process(agent->state->store, lease->record.id,
				&process->record, err);
	}
	return r < 0 ? r : clv_holder_store(lease, err);
}

static int rewrite(struct clv_agent *agent)
{
	struct clv_store *store = agent->state->store;
	const struct clv_lease *lease;
	int r = clv_store_begin(store, false, NULL);

	if (r < 0)
		return r;
	r = clv_store_clear_leases(store, NULL);
	TAILQ_FOREACH(lease, clv_ledger_leases(agent->ledger), entry)
	{
		if (r >= 0)
			r = write_lease(agent, lease, NULL);
	}
	if (r >= 0)
		r = clv_store_commit(store, NULL);
	if (r < 0)
		clv_store_rollback(store);
	return r;
}

/* A file that was removed or replaced is no state: once it is back, all is written. */
static void check_place(struct clv_agent *agent)
{
	struct clv_error err = {0};
	bool was_lost = agent->state->is_lost;

	agent->state->is_lost = clv_store_check_place(agent->state->store, &err) < 0;
	if (!agent->state->is_lost || was_lost)
		return;
	clv_state_set_stale(agent, &err);
	clv_events_emit_for_owner(agent, CLV_EVENT_STATE_REMOVED, geteuid(), NULL, "%s",
		agent->state->problem);
}

void clv_repair_state(struct clv_agent *agent)
{
	if (!clv_state_get(agent, NULL))
		reopen(agent);
	if (!clv_state_get(agent, NULL))
		return;
	check_place(agent);
	clv_store_probe_room(agent->state->store);
	if (!agent->state->is_stale)
		return;
	if (rewrite(agent) < 0)
		return;
	agent->state->is_stale = false;
	clv_names_store(agent->names);
	clv_lifecycle_serve_all(agent->lifecycle);
	clv_log_info("the state is written again");
}
