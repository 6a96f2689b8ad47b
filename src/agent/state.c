/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the agent going when its state file does not: what cannot be written is
 * remembered as "stale" and the whole ledger is written anew when writing works again. */
#include "agent/state.h"

#include "agent/agent.h"
#include "agent/device-json.h"
#include "agent/ledger.h"
#include "agent/store.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void clv_state_open(struct clv_agent *agent)
{
	struct clv_error err = {0};
	char path[CLV_FOLDER_MAX + 16];
	int r;

	snprintf(path, sizeof(path), "%s/cleaved.db", agent->config.state);
	r = clv_store_open(path, &agent->store, &err);
	if (r >= 0)
		return;
	agent->store_code = r == -ENOSPC ? -ENOSPC : -EIO;
	snprintf(agent->store_problem, sizeof(agent->store_problem), "%.255s", err.msg);
	clv_log_warning(r, "no new lease can be made: %s", err.msg);
}

struct clv_store *clv_state_get(struct clv_agent *agent, struct clv_error *err)
{
	if (!agent->store)
		clv_error_set(err, agent->store_code, "%s", agent->store_problem);
	return agent->store;
}

int clv_state_put_device(
	struct clv_agent *agent, const struct clv_device *info, struct clv_error *err)
{
	json_t *object = clv_device_to_json(info);
	char *text = json_dumps(object, JSON_COMPACT);
	int r;

	json_decref(object);
	if (!text)
		return clv_error_errno(err, ENOMEM, "cannot store the device");
	r = clv_store_put_device(agent->store, info->uuid, text, err);
	free(text);
	return r;
}

void clv_state_set_stale(struct clv_agent *agent, const struct clv_error *err)
{
	if (!agent->store_is_stale)
		clv_log_warning(0, "the state will be written again later: %s",
			err ? err->msg : "");
	agent->store_is_stale = true;
}

static int write_lease(
	struct clv_store *store, const struct clv_lease *lease, struct clv_error *err)
{
	const struct clv_attached *process;
	struct clv_lease_record record;
	int r;

	clv_lease_snapshot(lease, &record);
	r = clv_store_put_lease(store, &record, err);

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		if (r >= 0)
			r = clv_store_put_process(
				store, lease->record.id, &process->record, err);
	}
	return r;
}

static int rewrite(struct clv_agent *agent)
{
	struct clv_store *store = agent->store;
	const struct clv_lease *lease;
	int r = clv_store_begin(store, NULL);

	if (r < 0)
		return r;
	r = clv_store_clear_leases(store, NULL);
	TAILQ_FOREACH(lease, clv_ledger_leases(agent->ledger), entry)
	{
		if (r >= 0)
			r = write_lease(store, lease, NULL);
	}
	if (r >= 0)
		r = clv_store_commit(store, NULL);
	if (r < 0)
		clv_store_rollback(store);
	return r;
}

void clv_state_repair(struct clv_agent *agent)
{
	if (!agent->store || !agent->store_is_stale)
		return;
	if (rewrite(agent) < 0)
		return;
	agent->store_is_stale = false;
	clv_log_info("the state is written again");
}
