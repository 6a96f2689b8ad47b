/* SPDX-License-Identifier: Apache-2.0 */
/* Backups of the state file: made by a running agent, restored while none runs. */
#include "agent/api/handler/backup.h"

#include "agent/api/handler/api.h"
#include "agent/config/daemon.h"
#include "agent/os/json-fields.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A file name like "20260131T120000.123Z.db", so that names sort by time. */
static void make_name(uint64_t real_ns, char *ret, size_t ret_bytes)
{
	char stamp[32];
	size_t n = 0;

	clv_clock_format_rfc3339(real_ns, stamp);
	for (const char *p = stamp; *p; p++) {
		if (*p != '-' && *p != ':')
			stamp[n++] = *p;
	}
	stamp[n] = '\0';
	snprintf(ret, ret_bytes, "%s.db", stamp);
}

int clv_api_post_backup(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_agent *agent = request->agent;
	struct clv_store *store = clv_state_get(agent, err);
	uint64_t now_ns = clv_clock_real_ns();
	char path[CLV_FOLDER_MAX + 64], name[48];
	struct stat st = {0};
	int r = store ? 0 : err->code;

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/backup", agent->config.state);
	r = clv_path_make(path, 0700, err);
	if (r < 0)
		return r;
	make_name(now_ns, name, sizeof(name));
	snprintf(path, sizeof(path), "%s/backup/%s", agent->config.state, name);
	r = clv_store_copy(store, path, err);
	if (r < 0)
		return r;
	stat(path, &st);
	snprintf(request->object, sizeof(request->object), "%s", name);
	request->status = 201;
	request->answer = json_object();
	clv_json_set_text(request->answer, "path", path);
	json_object_set_new(
		request->answer, "bytes", json_integer((json_int_t)st.st_size));
	return 0;
}

/* Restoring. */

static int put_aside(const char *path, char *ret, size_t ret_bytes, struct clv_error *err)
{
	char name[48];

	ret[0] = '\0';
	if (access(path, F_OK) < 0)
		return 0;
	make_name(clv_clock_real_ns(), name, sizeof(name));
	snprintf(ret, ret_bytes, "%s.before-%s", path, name);
	if (rename(path, ret) < 0)
		return clv_error_errno(err, errno, "cannot put %s aside", path);
	return 0;
}

/* The changes that a killed agent has not copied into the file. */
static int put_log_aside(const char *wal, const char *aside, struct clv_error *err)
{
	char path[CLV_FOLDER_MAX + 168];

	snprintf(path, sizeof(path), "%s-wal", aside);
	if (aside[0] == '\0')
		unlink(wal);
	else if (rename(wal, path) < 0 && errno != ENOENT)
		return clv_error_errno(err, errno, "cannot put %s aside", wal);
	return 0;
}

int clv_backup_restore(
	const struct clv_agent_config *config, const char *path, struct clv_error *err)
{
	char state[CLV_FOLDER_MAX + 64], wal[CLV_FOLDER_MAX + 72],
		copy[CLV_FOLDER_MAX + 72];
	char aside[CLV_FOLDER_MAX + 160];
	struct clv_store *store = NULL;
	int r;

	clv_state_path(config, state, sizeof(state));
	snprintf(copy, sizeof(copy), "%s.restoring", state);
	snprintf(wal, sizeof(wal), "%s-wal", state);
	r = clv_store_check_copy(path, copy, err);
	if (r < 0)
		return r;
	r = put_aside(state, aside, sizeof(aside), err);
	if (r >= 0)
		r = put_log_aside(wal, aside, err);
	if (r < 0)
		return r;
	if (rename(copy, state) < 0)
		return clv_error_errno(err, errno, "cannot put %s in place", state);
	r = clv_store_open(state, &store, err);
	clv_store_free(store);
	if (r >= 0 && aside[0] != '\0')
		clv_log_info("restored; the former state file is %s", aside);
	return r;
}
