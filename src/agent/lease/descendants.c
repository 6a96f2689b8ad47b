/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the processes of leases: each tick lists /proc once, and reads the parents of new
 * pids only. */
#include "agent/lease/descendants.h"

#include "agent/lease/holder.h"
#include "agent/record/agent.h"
#include "base/array.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 4096u

/* Lookups mostly come in the order of the array, so the search begins behind the last
 * hit. */
static struct clv_descendant *find(
	struct clv_descendants *descendants, const struct clv_process_id *id)
{
	for (size_t i = 0; i < descendants->n; i++) {
		size_t at = (descendants->last_found + 1 + i) % descendants->n;
		struct clv_descendant *item = &descendants->items[at];

		if (item->id.pid == id->pid && item->id.start_ticks == id->start_ticks) {
			descendants->last_found = at;
			return item;
		}
	}
	return NULL;
}

/* Finds or adds a process.  NULL: it is the agent itself, which a holder may have
 * started, or there is no room. */
static struct clv_descendant *find_or_add(struct clv_descendants *descendants,
	const struct clv_process_id *id, const char *lease)
{
	struct clv_descendant *item = find(descendants, id);

	if (item || descendants->n == PROCESSES_MAX || id->pid == getpid())
		return item;
	item = CLV_APPEND(descendants->items, descendants->n);
	if (!item)
		return NULL;
	*item = (struct clv_descendant){.id = *id};
	snprintf(item->lease, sizeof(item->lease), "%s", lease);
	return item;
}

/* The roots: holders and attached processes. */

static void on_holder(
	void *userdata, const struct clv_process_id *id, struct clv_lease *lease)
{
	if (lease && !lease->record.is_queued)
		find_or_add(userdata, id, lease->record.id);
}

static void add_roots(struct clv_descendants *descendants, uint32_t now_s)
{
	const struct clv_lease *lease;

	clv_holder_each(descendants->agent, on_holder, descendants);
	LIST_FOREACH(lease, &descendants->agent->in_use, of_use)
	{
		const struct clv_attached *process;

		TAILQ_FOREACH(process, &lease->processes, entry)
		{
			struct clv_descendant *item = find_or_add(
				descendants, &process->record.id, lease->record.id);

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

static const struct clv_descendant *find_pid(
	const struct clv_descendants *descendants, pid_t pid)
{
	for (size_t i = 0; i < descendants->n; i++) {
		if (descendants->items[i].id.pid == pid)
			return &descendants->items[i];
	}
	return NULL;
}

static void add_if_descendant(struct clv_descendants *descendants, pid_t pid)
{
	const struct clv_descendant *parent;
	struct clv_process_id id = {.pid = pid};
	char lease[CLV_LEASE_ID_MAX];
	pid_t parent_pid;

	if (clv_process_read(pid, &parent_pid, &id.start_ticks) < 0)
		return;
	parent = find_pid(descendants, parent_pid);
	if (!parent)
		return;
	memcpy(lease, parent->lease, sizeof(lease)); /* adding moves the items */
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

/* The children of one process. */

static void add_listed(
	struct clv_descendants *descendants, const char *path, const char *lease)
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
	const struct clv_descendant parent = descendants->items[at]; /* a copy */
	const struct dirent *thread;
	char path[64];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)parent.id.pid);
	threads = opendir(path);
	while (threads && (thread = readdir(threads))) {
		if (thread->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children",
			(int)parent.id.pid, thread->d_name);
		add_listed(descendants, path, parent.lease);
	}
	if (threads)
		closedir(threads);
}

void clv_descendants_tick(struct clv_descendants *descendants, uint32_t now_s)
{
	add_roots(descendants, now_s);
	if (descendants->n > 0)
		add_new(descendants);
	else
		descendants->n_pids = 0;
}

void clv_descendants_remove(struct clv_descendants *descendants, size_t at)
{
	descendants->items[at] = descendants->items[--descendants->n];
}

void clv_descendants_done(struct clv_descendants *descendants)
{
	free(descendants->items);
	free(descendants->pids);
}
