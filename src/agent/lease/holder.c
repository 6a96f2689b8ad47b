/* SPDX-License-Identifier: Apache-2.0 */
/* The holders of leases.  A hash table of processes with one pidfd watch each; a holding
 * links a process to a lease. */
#include "agent/lease/holder.h"

#include "agent/auth/caller.h"
#include "agent/lease/lease.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "agent/user/owner.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUCKETS 256u

/* The link between a process and a lease that it holds. */
struct clv_holding {
	LIST_ENTRY(clv_holding) of_process, of_lease;
	struct clv_lease *lease;
	struct clv_holder_watch *watch;
};

struct clv_holder_watch {
	LIST_ENTRY(clv_holder_watch) entry;
	struct clv_process_id id;
	struct clv_watch *watch;
	LIST_HEAD(, clv_holding) holdings;
};

LIST_HEAD(bucket, clv_holder_watch);

struct clv_holder_watches {
	struct bucket buckets[BUCKETS];
};

struct clv_holder_watches *clv_holder_watches_new(void)
{
	return calloc(1, sizeof(struct clv_holder_watches));
}

struct clv_holder_watches *clv_holder_watches_free(struct clv_holder_watches *watches)
{
	for (size_t i = 0; watches && i < BUCKETS; i++)
		assert(LIST_EMPTY(&watches->buckets[i]));
	free(watches);
	return NULL;
}

static struct bucket *bucket_of(
	const struct clv_agent *agent, const struct clv_process_id *id)
{
	return &agent->watches->buckets[(uint64_t)id->pid % BUCKETS];
}

static bool is_same(const struct clv_process_id *a, const struct clv_process_id *b)
{
	return a->pid == b->pid && a->start_ticks == b->start_ticks;
}

static struct clv_holder_watch *find_watch(
	const struct clv_agent *agent, const struct clv_process_id *id)
{
	struct clv_holder_watch *watch;

	LIST_FOREACH(watch, bucket_of(agent, id), entry)
	{
		if (is_same(&watch->id, id))
			return watch;
	}
	return NULL;
}

static void unlink_watch(struct clv_holder_watch *watch)
{
	assert(LIST_EMPTY(&watch->holdings));
	LIST_REMOVE(watch, entry);
	clv_watch_free(watch->watch);
	free(watch);
}

static void free_holding(struct clv_holding *holding)
{
	LIST_REMOVE(holding, of_process);
	LIST_REMOVE(holding, of_lease);
	free(holding);
}

/* Only holders that joined have rows of their own; the first is in the lease's row. */
static void unstore(struct clv_lease *lease, const struct clv_process_id *id)
{
	struct clv_error err = {0};
	struct clv_store *store;

	if (is_same(id, &lease->record.holder))
		return;
	store = clv_state_get(lease->agent, &err);
	if (!store || clv_store_delete_holder(store, lease->record.id, id, &err) < 0)
		clv_state_set_stale(lease->agent, &err);
}

static void on_death(void *userdata)
{
	struct clv_holder_watch *watch = userdata;
	struct clv_holding *holding;

	while ((holding = LIST_FIRST(&watch->holdings))) {
		struct clv_lease *lease = holding->lease;

		free_holding(holding);
		unstore(lease, &watch->id);
		clv_notify_lease(lease->agent->notify, CLV_NOTICE_LEASE_LEFT, lease);
	}
	unlink_watch(watch);
}

/* Takes the pidfd in every case. */
static int new_watch(struct clv_agent *agent, const struct clv_process_id *id, int pidfd,
	struct clv_holder_watch **ret)
{
	struct clv_holder_watch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch) {
		close(pidfd);
		return -ENOMEM;
	}
	watch->id = *id;
	LIST_INIT(&watch->holdings);
	r = clv_watch_new(agent->event, pidfd, on_death, watch, &watch->watch);
	if (r < 0) {
		free(watch);
		return r;
	}
	LIST_INSERT_HEAD(bucket_of(agent, id), watch, entry);
	*ret = watch;
	return 0;
}

/* Also finds a dead holder. */
static struct clv_holding *find_holding(
	const struct clv_lease *lease, const struct clv_process_id *id)
{
	struct clv_holding *holding;

	LIST_FOREACH(holding, &lease->holdings, of_lease)
	{
		if (is_same(&holding->watch->id, id))
			return holding;
	}
	return NULL;
}

static int add_holding(struct clv_lease *lease, struct clv_holder_watch *watch)
{
	struct clv_holding *holding = calloc(1, sizeof(*holding));

	assert(!find_holding(lease, &watch->id));
	if (!holding) {
		if (LIST_EMPTY(&watch->holdings))
			unlink_watch(watch);
		return -ENOMEM;
	}
	holding->lease = lease;
	holding->watch = watch;
	LIST_INSERT_HEAD(&watch->holdings, holding, of_process);
	LIST_INSERT_HEAD(&lease->holdings, holding, of_lease);
	return 0;
}

int clv_holder_watch(struct clv_lease *lease, const struct clv_process_id *id, int pidfd,
	struct clv_error *err)
{
	struct clv_holder_watch *watch = find_watch(lease->agent, id);
	int r = 0;

	if (find_holding(lease, id)) {
		close(pidfd);
		return 0;
	}
	if (watch)
		close(pidfd);
	else
		r = new_watch(lease->agent, id, pidfd, &watch);
	if (r >= 0)
		r = add_holding(lease, watch);
	return r < 0 ? clv_error_errno(err, -r, "cannot watch the holder") : 0;
}

int clv_holder_adopt(
	struct clv_lease *lease, const struct clv_process_id *id, struct clv_error *err)
{
	struct clv_holder_watch *watch = find_watch(lease->agent, id);
	int pidfd;

	/* The process that asked for the lease may have joined it too. */
	if (find_holding(lease, id) || id->pid == 0) /* 0: a kept lease has none */
		return 0;
	if (watch)
		return add_holding(lease, watch) < 0
			       ? clv_error_errno(err, ENOMEM, "cannot watch the holder")
			       : 0;
	pidfd = clv_process_open(id);
	if (pidfd >= 0)
		return clv_holder_watch(lease, id, pidfd, err);
	unstore(lease, id);
	return 0;
}

/* As for a caller: in a tenant's cgroup a process is that tenant's, whatever its user.
 */
static int check_cgroup(const struct clv_lease *lease, const struct clv_process_id *id,
	struct clv_error *err)
{
	const char *cgroup = clv_caller_cgroup_tenant(lease->agent, id);

	if (!cgroup && lease->record.tenant[0] != CLV_OWNER_CGROUP)
		return 0;
	if (cgroup && strcmp(cgroup, lease->record.tenant) == 0)
		return 0;
	return clv_error_set(err, -EPERM,
		"process %d is in %s%s and the lease %s belongs to %s: let a process of "
		"that tenant join it",
		(int)id->pid, cgroup ? "the cgroup of " : "no tenant's cgroup",
		cgroup ? cgroup : "", lease->record.name, lease->record.tenant);
}

static int check_tenant(const struct clv_lease *lease, const struct clv_process_id *id,
	const struct clv_caller *caller, struct clv_error *err)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)id->pid);
	if (stat(path, &st) < 0)
		return -ESRCH;
	if (caller->scope == CLV_SCOPE_ADMIN)
		return 0;
	if (st.st_uid == lease->record.uid)
		return check_cgroup(lease, id, err);
	return clv_error_set(err, -EPERM,
		"process %d belongs to user %u and the lease %s to user %u: let a "
		"process of that user join it",
		(int)id->pid, st.st_uid, lease->record.name, lease->record.uid);
}

static int store_holder(const struct clv_lease *lease, const struct clv_process_id *id,
	struct clv_error *err)
{
	struct clv_store *store = clv_state_get(lease->agent, err);

	if (!store)
		return lease->agent->state->code;
	return clv_store_put_holder(store, lease->record.id, id, err);
}

int clv_holder_add(struct clv_lease *lease, int pid, const struct clv_caller *caller,
	struct clv_error *err)
{
	struct clv_process_id id = {.pid = pid};
	pid_t parent;
	int pidfd = -ESRCH, r;

	if (clv_process_read(pid, &parent, &id.start_ticks) == 0)
		pidfd = clv_process_open(&id);
	r = pidfd < 0 ? -ESRCH : check_tenant(lease, &id, caller, err);
	if (r >= 0)
		r = store_holder(lease, &id, err);
	if (r >= 0) {
		r = clv_holder_watch(lease, &id, pidfd, err);
		if (r < 0)
			unstore(lease, &id);
		return r;
	}
	if (pidfd >= 0)
		close(pidfd);
	return r != -ESRCH ? r
			   : clv_error_set(err, -ENOENT,
				     "there is no process %d: it may have ended", pid);
}

int clv_holder_store(const struct clv_lease *lease, struct clv_error *err)
{
	const struct clv_holding *holding;
	int r = 0;

	LIST_FOREACH(holding, &lease->holdings, of_lease)
	{
		if (r >= 0 && !is_same(&holding->watch->id, &lease->record.holder))
			r = store_holder(lease, &holding->watch->id, err);
	}
	return r;
}

void clv_holder_forget(struct clv_lease *lease)
{
	struct clv_holding *holding;

	while ((holding = LIST_FIRST(&lease->holdings))) {
		struct clv_holder_watch *watch = holding->watch;

		free_holding(holding);
		if (LIST_EMPTY(&watch->holdings))
			unlink_watch(watch);
	}
}

bool clv_holder_contains(const struct clv_lease *lease, const struct clv_process_id *id)
{
	const struct clv_holding *holding = find_holding(lease, id);

	return holding && !clv_watch_is_dead(holding->watch->watch);
}

bool clv_holder_is_any(const struct clv_lease *lease)
{
	return !LIST_EMPTY(&lease->holdings);
}

struct clv_lease *clv_holder_find(const struct clv_agent *agent,
	const struct clv_process_id *id, const struct clv_agent_device *device)
{
	const struct clv_holder_watch *watch = find_watch(agent, id);
	const struct clv_holding *holding;
	struct clv_lease *other = NULL;

	if (!watch)
		return NULL;
	LIST_FOREACH(holding, &watch->holdings, of_process)
	{
		struct clv_lease *lease = holding->lease;

		if (!lease->record.is_queued && clv_lease_is_on(lease, device))
			return lease;
		other = lease;
	}
	return other;
}

void clv_holder_each(const struct clv_agent *agent, clv_holder_fn fn, void *userdata)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct clv_holder_watch *watch;

		LIST_FOREACH(watch, &agent->watches->buckets[i], entry)
		{
			/* A watch is freed with its last holding. */
			assert(!LIST_EMPTY(&watch->holdings));
			fn(userdata, &watch->id, LIST_FIRST(&watch->holdings)->lease);
		}
	}
}
