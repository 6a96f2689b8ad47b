/* SPDX-License-Identifier: Apache-2.0 */
/* The handle of the state file.  While the file cannot be written the agent continues:
 * is_stale records that changes are missing, and agent/main/repair.h writes them later.
 */
#include "agent/store/state.h"

#include "agent/record/agent.h"
#include "agent/store/store.h"
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

#define REOPEN_EVERY 5u /* calls; there is one a second */

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
	_cleanup_close_ int from = open(from_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_close_ int to = -1;
	struct stat st;
	ssize_t n;

	if (from < 0)
		return -errno;
	if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	to = open(to_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0)
		return -errno;
	do
		n = sendfile(to, from, NULL, 1 << 20);
	while (n > 0);
	return n < 0 ? -errno : 0;
}

/* If a killed agent left a write-ahead log, SQLite cannot read the file without writing
 * beside it.  So what is on a read-only disk is read from a copy in the runtime folder,
 * until the disk can be written. */
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
	return clv_store_open(to, &agent->state->store, NULL);
}

static void remove_copy(const struct clv_agent *agent)
{
	static const char *const endings[] = {"", "-wal"};
	char path[CLV_FOLDER_MAX + 32];

	for (size_t i = 0; i < CLV_ARRAY_SIZE(endings); i++) {
		copy_path(agent, endings[i], path, sizeof(path));
		unlink(path);
	}
}

int clv_state_open(struct clv_agent *agent, struct clv_error *err)
{
	struct clv_state *state = calloc(1, sizeof(*state));
	struct clv_error problem = {0};
	char path[CLV_FOLDER_MAX + 16];
	int r;

	if (!state)
		return clv_error_errno(err, ENOMEM, "cannot start the agent");
	agent->state = state;
	remove_copy(agent); /* of an agent that was killed */
	clv_state_path(&agent->config, path, sizeof(path));
	r = clv_store_open(path, &state->store, &problem);
	if (r >= 0)
		return 0;
	state->code = r == -ENOSPC ? -ENOSPC : -EIO;
	snprintf(state->problem, sizeof(state->problem), "%s", problem.msg);
	clv_log_warning(r, "new leases are refused: %s", problem.msg);
	/* The leases in a file that another agent has open are that agent's. */
	if (r != -EBUSY && open_copy(agent) >= 0)
		state->is_copy = state->was_copied = true;
	else
		remove_copy(agent);
	return 0;
}

static void close_store(struct clv_agent *agent)
{
	agent->state->store = clv_store_free(agent->state->store);
	if (agent->state->is_copy)
		remove_copy(agent);
	agent->state->is_copy = false;
}

void clv_state_close(struct clv_agent *agent)
{
	if (agent->state)
		close_store(agent);
	free(agent->state);
	agent->state = NULL;
}

bool clv_state_reopen(struct clv_agent *agent)
{
	char path[CLV_FOLDER_MAX + 16];
	struct clv_store *store;

	if (++agent->state->n_waits % REOPEN_EVERY != 0)
		return false;
	clv_state_path(&agent->config, path, sizeof(path));
	if (clv_store_open(path, &store, NULL) < 0)
		return false;
	close_store(agent);
	agent->state->store = store;
	return true;
}

struct clv_store *clv_state_get(struct clv_agent *agent, struct clv_error *err)
{
	if (agent->state->store && !agent->state->is_copy)
		return agent->state->store;
	clv_error_set(err, agent->state->code, "%s", agent->state->problem);
	return NULL;
}

struct clv_store *clv_state_get_readable(struct clv_agent *agent, struct clv_error *err)
{
	return agent->state->is_copy ? agent->state->store : clv_state_get(agent, err);
}

void clv_state_set_stale(struct clv_agent *agent, const struct clv_error *err)
{
	if (!agent->state->is_stale)
		clv_log_warning(0,
			"the state file misses changes and is rewritten later: %s",
			err->msg);
	snprintf(agent->state->problem, sizeof(agent->state->problem), "%s", err->msg);
	agent->state->n_errors++;
	agent->state->is_stale = true;
}

int clv_state_put_key(struct clv_agent *agent, const char *object, struct clv_error *err)
{
	struct clv_key_record *key = &agent->state->current_key;
	struct clv_store *store = clv_state_get(agent, err);

	if (key->key[0] == '\0' || key->object[0] != '\0' || object[0] == '\0')
		return 0;
	if (!store)
		return err->code;
	snprintf(key->object, sizeof(key->object), "%s", object);
	return clv_store_put_key(store, key, err);
}
