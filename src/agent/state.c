/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the agent going when its state file does not: what cannot be written is
 * remembered as "stale" and the whole ledger is written anew when writing works again. */
#include "agent/state.h"

#include "agent/adopt.h"
#include "agent/agent.h"
#include "agent/counters.h"
#include "agent/device-json.h"
#include "agent/devices.h"
#include "agent/events.h"
#include "agent/holder.h"
#include "agent/ledger.h"
#include "agent/store.h"
#include "agent/tokens.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define REOPEN_EVERY 5u /* looks, one a second */

void clv_state_path(const struct clv_agent_config *config, char *ret, size_t ret_bytes)
{
	snprintf(ret, ret_bytes, "%s/cleaved.db", config->state);
}

static void copy_path(
	const struct clv_agent *agent, const char *ending, char *ret, size_t ret_bytes)
{
	snprintf(ret, ret_bytes, "%s/cleaved-copy.db%s", agent->config.runtime, ending);
}

static int copy_file(const char *from_path, const char *to_path)
{
	_cleanup_close_ int from = open(from_path, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int to = -1;
	ssize_t n;

	if (from < 0)
		return -errno;
	to = open(to_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0)
		return -errno;
	do
		n = sendfile(to, from, NULL, 1 << 20);
	while (n > 0);
	return n < 0 ? -errno : 0;
}

/* SQLite cannot read what was left by a kill without writing beside it.  So that leases
 * are adopted from a disk that is read-only all the same, they are read from a copy. */
static int open_copy(struct clv_agent *agent)
{
	static const char *const endings[] = {"", "-wal"};
	char from[CLV_FOLDER_MAX + 32], to[CLV_FOLDER_MAX + 32];

	for (size_t i = 0; i < CLV_ARRAY_SIZE(endings); i++) {
		clv_state_path(&agent->config, from, sizeof(from) - 8);
		strcat(from, endings[i]);
		copy_path(agent, endings[i], to, sizeof(to));
		if (copy_file(from, to) < 0 && i == 0)
			return -EIO;
	}
	copy_path(agent, "", to, sizeof(to));
	return clv_store_open(to, &agent->store, NULL);
}

void clv_state_open(struct clv_agent *agent)
{
	struct clv_error err = {0};
	char path[CLV_FOLDER_MAX + 16];
	int r;

	clv_state_path(&agent->config, path, sizeof(path));
	r = clv_store_open(path, &agent->store, &err);
	if (r >= 0)
		return;
	agent->store_code = r == -ENOSPC ? -ENOSPC : -EIO;
	snprintf(agent->store_problem, sizeof(agent->store_problem), "%.255s", err.msg);
	clv_log_warning(r, "no new lease can be made: %s", err.msg);
	/* What another agent has open is that agent's. */
	if (r != -EBUSY && open_copy(agent) >= 0)
		agent->store_is_copy = true;
}

void clv_state_close_copy(struct clv_agent *agent)
{
	static const char *const endings[] = {"", "-wal"};
	char path[CLV_FOLDER_MAX + 32];

	if (agent->store_is_copy)
		agent->store = clv_store_free(agent->store);
	agent->store_is_copy = false;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(endings) && !agent->store; i++) {
		copy_path(agent, endings[i], path, sizeof(path));
		unlink(path);
	}
}

/* A file that could not be opened at the start may be fine by now. */
static void reopen(struct clv_agent *agent)
{
	char path[CLV_FOLDER_MAX + 16];
	struct clv_error err = {0};

	if (++agent->store_n_waits % REOPEN_EVERY != 0)
		return;
	clv_state_path(&agent->config, path, sizeof(path));
	if (clv_store_open(path, &agent->store, NULL) < 0)
		return;
	clv_log_info("the state file can be used again");
	clv_events_renumber(agent->events);
	if (agent->tokens && clv_tokens_read(agent->tokens, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	clv_adopt_all(agent);
	agent->store_is_stale = true;
}

struct clv_store *clv_state_get(struct clv_agent *agent, struct clv_error *err)
{
	if (agent->store && !agent->store_is_copy)
		return agent->store;
	clv_error_set(err, agent->store_code, "%s", agent->store_problem);
	return NULL;
}

static int put_device(
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

static int put_others(
	struct clv_agent *agent, const struct clv_lease *lease, struct clv_error *err)
{
	const struct clv_agent_device *device;
	int r = 0;

	for (unsigned i = 1; r >= 0 && (device = clv_lease_device(lease, i)); i++) {
		r = put_device(agent, &device->info, err);
		if (r >= 0)
			r = clv_store_put_lease_device(agent->store, lease->record.id, i,
				device->info.uuid, err);
	}
	return r;
}

int clv_state_put_lease(struct clv_agent *agent, const struct clv_lease *lease,
	const struct clv_lease_record *record, struct clv_error *err)
{
	int r = put_device(agent, &lease->device->info, err);

	if (r >= 0)
		r = clv_store_put_lease(agent->store, record, err);
	return r < 0 ? r : put_others(agent, lease, err);
}

void clv_state_set_stale(struct clv_agent *agent, const struct clv_error *err)
{
	if (!agent->store_is_stale)
		clv_log_warning(0, "the state will be written again later: %s",
			err ? err->msg : "");
	agent->counters->state_errors++;
	agent->store_is_stale = true;
}

static int write_lease(
	struct clv_agent *agent, const struct clv_lease *lease, struct clv_error *err)
{
	const struct clv_attached *process;
	struct clv_lease_record record;
	int r;

	clv_lease_snapshot(lease, &record);
	r = clv_state_put_lease(agent, lease, &record, err);

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		if (r >= 0)
			r = clv_store_put_process(
				agent->store, lease->record.id, &process->record, err);
	}
	return r < 0 ? r : clv_holder_store(lease, err);
}

static int rewrite(struct clv_agent *agent)
{
	struct clv_store *store = agent->store;
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

void clv_state_repair(struct clv_agent *agent)
{
	if (!agent->store)
		reopen(agent);
	if (!agent->store || !agent->store_is_stale)
		return;
	if (rewrite(agent) < 0)
		return;
	agent->store_is_stale = false;
	clv_log_info("the state is written again");
}
