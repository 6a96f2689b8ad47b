/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/holder.h"

#include "agent/agent.h"
#include "agent/lease.h"
#include "agent/ledger.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define BUCKETS 256u

struct clv_holder_watch {
	LIST_ENTRY(clv_holder_watch) entry;
	struct clv_process_id id;
	struct clv_watch *watch;
	LIST_HEAD(, clv_lease) leases;
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
	free(watches);
	return NULL;
}

static struct bucket *bucket_of(
	const struct clv_agent *agent, const struct clv_process_id *id)
{
	return &agent->watches->buckets[(uint64_t)id->pid % BUCKETS];
}

static struct clv_holder_watch *find(
	const struct clv_agent *agent, const struct clv_process_id *id)
{
	struct clv_holder_watch *watch;

	LIST_FOREACH(watch, bucket_of(agent, id), entry)
	{
		if (watch->id.pid == id->pid && watch->id.start_ticks == id->start_ticks)
			return watch;
	}
	return NULL;
}

static void unlink_watch(struct clv_holder_watch *watch)
{
	LIST_REMOVE(watch, entry);
	clv_watch_free(watch->watch);
	free(watch);
}

static void on_death(void *userdata)
{
	struct clv_holder_watch *watch = userdata;
	struct clv_lease *lease;

	while ((lease = LIST_FIRST(&watch->leases))) {
		LIST_REMOVE(lease, of_holder);
		lease->holder = NULL;
		clv_ledger_check_end(lease->agent->ledger, lease);
	}
	unlink_watch(watch);
}

static int make(struct clv_lease *lease, int pidfd, struct clv_holder_watch **ret)
{
	struct clv_holder_watch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch) {
		close(pidfd);
		return -ENOMEM;
	}
	watch->id = lease->record.holder;
	LIST_INIT(&watch->leases);
	r = clv_watch_new(lease->agent->event, pidfd, on_death, watch, &watch->watch);
	if (r < 0) {
		free(watch);
		return r;
	}
	LIST_INSERT_HEAD(bucket_of(lease->agent, &watch->id), watch, entry);
	*ret = watch;
	return 0;
}

static void join(struct clv_lease *lease, struct clv_holder_watch *watch)
{
	lease->holder = watch;
	LIST_INSERT_HEAD(&watch->leases, lease, of_holder);
}

bool clv_holder_join(struct clv_lease *lease)
{
	struct clv_holder_watch *watch = find(lease->agent, &lease->record.holder);

	if (watch)
		join(lease, watch);
	return watch != NULL;
}

int clv_holder_watch(struct clv_lease *lease, int pidfd, struct clv_error *err)
{
	struct clv_holder_watch *watch;
	int r;

	if (clv_holder_join(lease)) {
		close(pidfd);
		return 0;
	}
	r = make(lease, pidfd, &watch);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot watch the holder");
	join(lease, watch);
	return 0;
}

void clv_holder_forget(struct clv_lease *lease)
{
	struct clv_holder_watch *watch = lease->holder;

	if (!watch)
		return;
	LIST_REMOVE(lease, of_holder);
	lease->holder = NULL;
	if (LIST_EMPTY(&watch->leases))
		unlink_watch(watch);
}

bool clv_holder_is_dead(const struct clv_lease *lease)
{
	return !lease->holder || clv_watch_is_dead(lease->holder->watch);
}

struct clv_lease *clv_holder_find(const struct clv_agent *agent,
	const struct clv_process_id *id, const struct clv_agent_device *device)
{
	const struct clv_holder_watch *watch = find(agent, id);
	struct clv_lease *lease, *other = NULL;

	if (!watch)
		return NULL;
	LIST_FOREACH(lease, &watch->leases, of_holder)
	{
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
		fn(userdata, &watch->id, LIST_FIRST(&watch->leases));
	}
}
