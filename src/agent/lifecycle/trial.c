/* SPDX-License-Identifier: Apache-2.0 */
/* The leases are made, as drafts, and are in the ledger as long as the trial lasts, so
 * that the next ones are placed by the same rules as any.  No gate, no row of the state
 * file and no event is made of them, and the loop runs nothing meanwhile. */
#include "agent/lifecycle/trial.h"

#include "agent/attach/lease-open.h"
#include "agent/auth/caller.h"
#include "agent/device/devices.h"
#include "agent/ledger/ledger.h"
#include "agent/lifecycle/draft.h"
#include "agent/os/processes.h"
#include "agent/placing/demand.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A lease of the trial. */
struct made {
	struct clv_lease *lease; /* NULL: it does not fit */
	struct clv_placing placing;
};

static int make(struct clv_agent *agent, const struct clv_caller *caller,
	struct clv_trial *trial, struct made *ret)
{
	const struct clv_peer peer = {.uid = caller->uid, .gid = caller->gid};
	struct clv_lease_request request = *trial->request;
	struct clv_lease_record record;
	int r;

	request.name[0] = '\0';
	request.wait = false;
	ret->placing = (struct clv_placing){0};
	r = clv_draft_make(
		agent, &request, caller, &peer, &record, &ret->placing, &trial->err);
	if (r >= 0) {
		ret->lease = clv_draft_lease(agent, &ret->placing, &record);
		r = ret->lease ? clv_ledger_add(agent->ledger, ret->lease, &trial->err)
			       : clv_error_errno(&trial->err, ENOMEM, "cannot try it");
	}
	if (r >= 0)
		return 0;
	ret->lease = clv_lease_free(ret->lease);
	clv_draft_unclaim(agent, &ret->placing);
	return r;
}

static void unmake(struct clv_agent *agent, struct made *made)
{
	if (!made->lease)
		return;
	clv_ledger_remove(agent->ledger, made->lease);
	clv_lease_free(made->lease);
	clv_draft_unclaim(agent, &made->placing);
}

static void try_one(struct clv_agent *agent, const struct clv_caller *caller,
	struct clv_trial *trial, struct made *ret)
{
	bool ends_first = trial->instead_of && trial->ends_first;

	if (ends_first)
		trial->instead_of->is_left_out = true;
	trial->r = make(agent, caller, trial, ret);
	if (trial->r < 0 && trial->instead_of && !ends_first) {
		trial->instead_of->is_left_out = true;
		ends_first = true;
		trial->r = make(agent, caller, trial, ret);
	}
	if (trial->instead_of)
		trial->instead_of->is_left_out = true;
	if (trial->r < 0)
		return;
	clv_demand_note(agent->demand, ret->lease);
	trial->is_after_end = ends_first;
	trial->share = ret->lease->record.share;
	snprintf(trial->device, sizeof(trial->device), "%s",
		ret->lease->device->info.name);
}

static void set_left_out(struct clv_lease *const *leases, size_t n, bool is_left_out)
{
	for (size_t i = 0; i < n; i++)
		leases[i]->is_left_out = is_left_out;
}

void clv_trial_run(struct clv_agent *agent, const struct clv_caller *caller,
	struct clv_lease *const *gone, size_t n_gone, struct clv_trial *trials, size_t n)
{
	_cleanup_free_ struct made *made = calloc(n + 1, sizeof(*made));
	struct clv_demand *kept = agent->demand, *copy = clv_demand_copy(kept);

	for (size_t i = 0; i < n && (!made || !copy); i++)
		trials[i].r = clv_error_errno(&trials[i].err, ENOMEM, "cannot try it");
	if (!made || !copy) {
		clv_demand_free(copy);
		return;
	}
	agent->demand = copy;
	set_left_out(gone, n_gone, true);
	for (size_t i = 0; i < n; i++)
		try_one(agent, caller, &trials[i], &made[i]);
	for (size_t i = n; i-- > 0;) {
		unmake(agent, &made[i]);
		if (trials[i].instead_of)
			trials[i].instead_of->is_left_out = false;
	}
	set_left_out(gone, n_gone, false);
	agent->demand = kept;
	clv_demand_free(copy);
}
