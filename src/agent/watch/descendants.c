/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the processes of leases: a tick lists /proc once, if there are new processes, and
 * reads the parents of new pids only. */
#include "agent/watch/descendants.h"

#include "agent/event/events.h"
#include "agent/lease/holder.h"
#include "agent/ledger/ledger.h"
#include "agent/record/agent.h"
#include "base/array.h"
#include "base/cleanup.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 65536u
/* Where another file system is mounted over /proc/loadavg its last pid is not exact. */
#define LIST_EVERY_S 10u

static uint32_t *head_of(struct clv_descendants *descendants, pid_t pid)
{
	return &descendants->heads[(uint32_t)pid % CLV_ARRAY_SIZE(descendants->heads)];
}

static struct clv_descendant *find_pid(struct clv_descendants *descendants, pid_t pid)
{
	uint32_t at = *head_of(descendants, pid);

	while (at > 0 && descendants->items[at - 1].id.pid != pid)
		at = descendants->items[at - 1].next;
	return at > 0 ? &descendants->items[at - 1] : NULL;
}

/* The place that holds the number of the item at that index. */
static uint32_t *link_to(struct clv_descendants *descendants, size_t at)
{
	uint32_t *link = head_of(descendants, descendants->items[at].id.pid);

	while (*link != at + 1)
		link = &descendants->items[*link - 1].next;
	return link;
}

/* Whether the lease may have another process here.  Reports once if not. */
static bool has_room(const struct clv_descendants *descendants, struct clv_lease *lease)
{
	if (descendants->n < PROCESSES_MAX &&
		lease->observed.n_checked < CLV_DESCENDANTS_OF_LEASE)
		return true;
	if (!lease->observed.is_crowded)
		clv_lease_emit(lease, CLV_EVENT_PROCESSES_UNCHECKED,
			"it has more than %u processes: the others are not checked for "
			"APIs without a gate",
			lease->observed.n_checked);
	lease->observed.is_crowded = true;
	return false;
}

/* Finds or adds a process.  NULL: it is the agent itself, which a holder may have
 * started, or there is no room. */
static struct clv_descendant *find_or_add(struct clv_descendants *descendants,
	const struct clv_process_id *id, struct clv_lease *lease)
{
	struct clv_descendant *item = find_pid(descendants, id->pid);

	if (item && item->id.start_ticks == id->start_ticks)
		return item;
	/* The process that had the pid before is gone. */
	if (item)
		clv_descendants_remove(descendants, (size_t)(item - descendants->items));
	if (id->pid == getpid() || !has_room(descendants, lease))
		return NULL;
	item = CLV_APPEND(descendants->items, descendants->n);
	if (!item)
		return NULL;
	*item = (struct clv_descendant){
		.id = *id, .next = *head_of(descendants, id->pid)};
	snprintf(item->lease, sizeof(item->lease), "%s", lease->record.id);
	*head_of(descendants, id->pid) = (uint32_t)descendants->n;
	lease->observed.n_checked++;
	return item;
}

/* The roots: holders and attached processes. */

static void on_holder(
	void *userdata, const struct clv_process_id *id, struct clv_lease *lease)
{
	if (lease && !lease->record.is_queued)
		find_or_add(userdata, id, lease);
}

static void add_roots(struct clv_descendants *descendants, uint32_t now_s)
{
	struct clv_lease *lease;

	clv_holder_each(descendants->agent, on_holder, descendants);
	LIST_FOREACH(lease, &descendants->agent->in_use, of_use)
	{
		const struct clv_attached *process;

		TAILQ_FOREACH(process, &lease->processes, entry)
		{
			struct clv_descendant *item =
				find_or_add(descendants, &process->record.id, lease);

			if (item)
				item->attached_s = now_s;
		}
	}
}

/* Processes that are new since the last tick. */

static int compare_pids(const void *a, const void *b)
{
	int left = *(const int *)a, right = *(const int *)b;

	return (left > right) - (left < right);
}

static size_t list_pids(int **ret)
{
	const struct dirent *entry;
	DIR *proc = opendir("/proc");
	size_t n = 0;
	int *pid;

	while (proc && (entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		pid = CLV_APPEND(*ret, n);
		if (!pid)
			break;
		*pid = atoi(entry->d_name);
	}
	if (proc)
		closedir(proc);
	if (n > 0)
		qsort(*ret, n, sizeof(**ret), compare_pids);
	return n;
}

static struct clv_lease *lease_of(
	const struct clv_descendants *descendants, const struct clv_descendant *item)
{
	return clv_ledger_find_id(descendants->agent->ledger, item->lease);
}

static void add_if_descendant(struct clv_descendants *descendants, pid_t pid)
{
	const struct clv_descendant *parent;
	struct clv_process_id id = {.pid = pid};
	struct clv_lease *lease;
	pid_t parent_pid;

	if (clv_process_read(pid, &parent_pid, &id.start_ticks) < 0)
		return;
	parent = find_pid(descendants, parent_pid);
	lease = parent ? lease_of(descendants, parent) : NULL;
	if (lease)
		find_or_add(descendants, &id, lease);
}

/* Ascending pids mean that a parent is added before its child; where pids have wrapped
 * around, clv_descendants_add_children() finds the child later. */
static void add_new(struct clv_descendants *descendants)
{
	int *pids = NULL;
	size_t n = list_pids(&pids), before = 0;

	for (size_t i = 0; i < n; i++) {
		while (before < descendants->n_pids &&
			descendants->pids[before] < pids[i])
			before++;
		if (before == descendants->n_pids || descendants->pids[before] != pids[i])
			add_if_descendant(descendants, pids[i]);
	}
	free(descendants->pids);
	descendants->pids = pids;
	descendants->n_pids = n;
}

static bool may_have_new(struct clv_descendants *descendants, uint32_t now_s)
{
	pid_t newest = 0, before = descendants->newest;

	if (clv_process_newest(&newest) < 0)
		newest = 0;
	descendants->newest = newest;
	if (newest > 0 && newest == before && descendants->n_pids > 0 &&
		now_s - descendants->listed_s < LIST_EVERY_S)
		return false;
	descendants->listed_s = now_s;
	return true;
}

/* The children of one process. */

static void add_listed(
	struct clv_descendants *descendants, const char *path, struct clv_lease *lease)
{
	FILE *children = fopen(path, "re");
	struct clv_process_id id;
	int pid;

	while (children && fscanf(children, "%d", &pid) == 1) {
		id.pid = pid;
		if (clv_process_read(pid, NULL, &id.start_ticks) >= 0)
			find_or_add(descendants, &id, lease);
	}
	if (children)
		fclose(children);
}

/* /proc lists children by the thread that created them. */
void clv_descendants_add_children(struct clv_descendants *descendants, size_t at)
{
	pid_t parent = descendants->items[at].id.pid;
	struct clv_lease *lease = lease_of(descendants, &descendants->items[at]);
	const struct dirent *thread;
	char path[64];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)parent);
	threads = lease ? opendir(path) : NULL;
	while (threads && (thread = readdir(threads))) {
		if (thread->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", (int)parent,
			thread->d_name);
		add_listed(descendants, path, lease);
	}
	if (threads)
		closedir(threads);
}

void clv_descendants_tick(struct clv_descendants *descendants, uint32_t now_s)
{
	add_roots(descendants, now_s);
	if (descendants->n == 0)
		descendants->n_pids = 0;
	else if (may_have_new(descendants, now_s))
		add_new(descendants);
}

void clv_descendants_remove(struct clv_descendants *descendants, size_t at)
{
	struct clv_lease *lease = lease_of(descendants, &descendants->items[at]);
	size_t last = descendants->n - 1;

	if (lease)
		lease->observed.n_checked--;
	*link_to(descendants, at) = descendants->items[at].next;
	if (at != last) {
		*link_to(descendants, last) = (uint32_t)at + 1;
		descendants->items[at] = descendants->items[last];
	}
	descendants->n--;
}

void clv_descendants_done(struct clv_descendants *descendants)
{
	free(descendants->items);
	free(descendants->pids);
}
