/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups of report pages and of sharers in /proc, with a bound on their time for each
 * lease. */
#include "agent/lease/shared-vm.h"

#include "agent/record/agent.h"
#include "arbiter/arbiter.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Report pages. */

static bool is_lookup_allowed(struct clv_lease *lease)
{
	uint64_t now_ns = clv_clock_ns();

	if (now_ns - lease->looks_since_ns >= CLV_NS_PER_S) {
		lease->looks_since_ns = now_ns;
		lease->looks_ns = 0;
	}
	return lease->looks_ns < CLV_LOOKUP_NS;
}

/* The file of the lease's report page.  -1: there is none yet. */
static int lease_page(const struct clv_lease *lease, struct stat *ret)
{
	struct clv_arbiter_fds fds;

	if (!lease->arbiter_lease)
		return -1;
	clv_arbiter_get_fds(lease->arbiter_lease, &fds);
	return fstat(fds.report, ret);
}

/* 1, 0, -EACCES: the mappings cannot be read; -EAGAIN: not now. */
static int maps_page(const struct clv_lease *lease, pid_t pid, bool any_lease)
{
	struct stat st;

	if (!any_lease && lease_page(lease, &st) < 0)
		return 1;
	return clv_scan_budget_find_page(&lease->agent->scan_budget, lease->record.id,
		lease->record.tenant, pid, any_lease ? NULL : &st);
}

enum clv_lookup clv_shared_vm_has_page(const struct clv_attached *process)
{
	struct clv_lease *lease = process->lease;
	uint64_t began_ns = clv_clock_ns();
	int r;

	if (!is_lookup_allowed(lease))
		return CLV_ANSWER_UNKNOWN;
	r = maps_page(lease, process->record.id.pid, !process->is_reattached);
	lease->looks_ns += clv_clock_ns() - began_ns;
	if (r == -EAGAIN)
		return CLV_ANSWER_UNKNOWN;
	return r == 0 ? CLV_ANSWER_NO : CLV_ANSWER_YES;
}

/* A cache of what was read of processes outside the lease, so that they are read once
 * when a hundred processes end together.  A process that did not map the page when
 * another was attached does not share that one's memory.  Pids are reused, so entries are
 * kept for a second. */

#define CACHE_MAX 4096u

struct seen {
	pid_t pid; /* 0: a free entry */
	bool has_no_page;
	uint64_t looked_ns;
	struct clv_process_layout layout;
};

struct clv_lookup_cache {
	uint64_t began_ns;
	size_t n;
	struct seen items[CACHE_MAX];
};

static struct clv_lookup_cache *fresh_table(struct clv_lease *lease)
{
	uint64_t now_ns = clv_clock_ns();
	struct clv_lookup_cache *seen = lease->seen;

	if (!seen)
		seen = lease->seen = calloc(1, sizeof(*seen));
	if (seen && now_ns - seen->began_ns >= CLV_NS_PER_S) {
		memset(seen, 0, sizeof(*seen));
		seen->began_ns = now_ns;
	}
	return seen;
}

/* NULL: the cache is full or there is no memory. */
static struct seen *find_cached(struct clv_lease *lease, pid_t pid)
{
	struct clv_lookup_cache *seen = fresh_table(lease);
	uint32_t at = (uint32_t)pid * 2654435761u;

	for (; seen; at++) {
		struct seen *item = &seen->items[at % CACHE_MAX];

		if (item->pid == pid)
			return item;
		if (item->pid != 0)
			continue;
		if (seen->n == CACHE_MAX / 2)
			return NULL;
		seen->n++;
		item->pid = pid;
		return item;
	}
	return NULL;
}

/* Sharers. */

void clv_shared_vm_record(struct clv_attached *process)
{
	struct clv_process_id ancestors[CLV_ANCESTORS_MAX];
	pid_t pid = process->record.id.pid;
	size_t n = clv_process_ancestors(pid, ancestors, CLV_ANCESTORS_MAX);
	struct stat page;

	free(process->ancestors);
	process->ancestors = malloc(n * sizeof(ancestors[0]));
	process->n_ancestors = process->ancestors ? n : 0;
	if (process->ancestors)
		memcpy(process->ancestors, ancestors, n * sizeof(ancestors[0]));
	clv_process_read_layout(pid, &process->record.layout);
	if (lease_page(process->lease, &page) == 0)
		process->record.page = page.st_ino;
	process->noted_ns = clv_clock_ns();
}

struct search {
	const struct clv_attached *of;
	uint64_t counted_ns;
	struct clv_process_id id;
	enum clv_lookup answer;
};

static bool is_attached(const struct clv_lease *lease, pid_t pid)
{
	const struct clv_attached *process;

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		if (process->record.id.pid == pid)
			return true;
	}
	return false;
}

/* Reads a candidate's layout.  A process that is attached to the lease, and the agent,
 * which may be a child of init too, cannot be a sharer. */
static void examine(const struct clv_lease *lease, struct seen *seen)
{
	seen->looked_ns = clv_clock_ns();
	seen->has_no_page = seen->pid == getpid() || is_attached(lease, seen->pid) ||
			    clv_process_read_layout(seen->pid, &seen->layout) < 0;
}

/* A sharer has its program and stack at the same addresses and maps the page. */
static enum clv_lookup is_sharer(const struct clv_attached *of, struct seen *seen)
{
	int r;

	if (seen->looked_ns <= of->noted_ns)
		examine(of->lease, seen);
	if (seen->has_no_page || seen->layout.code != of->record.layout.code ||
		seen->layout.stack != of->record.layout.stack)
		return CLV_ANSWER_NO;
	r = maps_page(of->lease, seen->pid, false);
	if (r == -EAGAIN)
		return CLV_ANSWER_UNKNOWN;
	seen->has_no_page = r <= 0;
	return r > 0 ? CLV_ANSWER_YES : CLV_ANSWER_NO;
}

/* Charges the time so far to the lease; false: a sharer is found, or the lease's time is
 * used up. */
static bool may_continue(struct search *search)
{
	struct clv_lease *lease = search->of->lease;
	uint64_t now_ns = clv_clock_ns();

	lease->looks_ns += now_ns - search->counted_ns;
	search->counted_ns = now_ns;
	if (search->answer == CLV_ANSWER_NO && !is_lookup_allowed(lease))
		search->answer = CLV_ANSWER_UNKNOWN;
	return search->answer == CLV_ANSWER_NO;
}

static void check_candidate(struct search *search, pid_t pid)
{
	struct seen *kept = find_cached(search->of->lease, pid), uncached = {.pid = pid};
	enum clv_lookup answer = is_sharer(search->of, kept ? kept : &uncached);

	if (answer == CLV_ANSWER_YES &&
		clv_process_read(pid, NULL, &search->id.start_ticks) < 0)
		return;
	search->id.pid = pid;
	search->answer = answer;
}

static void check_listed(struct search *search, const char *path)
{
	FILE *children = fopen(path, "re");
	int pid;

	while (children && may_continue(search) && fscanf(children, "%d", &pid) == 1)
		check_candidate(search, pid);
	if (children)
		fclose(children);
}

/* /proc lists children by the thread that created them or to which they were
 * reparented. */
static void check_children(struct search *search, const struct clv_process_id *parent)
{
	const struct dirent *thread;
	uint64_t start_ticks;
	char path[64];
	DIR *threads;

	if (clv_process_read(parent->pid, NULL, &start_ticks) < 0 ||
		start_ticks != parent->start_ticks)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)parent->pid);
	threads = opendir(path);
	while (threads && may_continue(search) && (thread = readdir(threads))) {
		if (thread->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children",
			(int)parent->pid, thread->d_name);
		check_listed(search, path);
	}
	if (threads)
		closedir(threads);
}

/* A process may have several entries with one address space: search once for all. */
static bool is_without_sharer(const struct clv_attached *process)
{
	const struct clv_lease *lease = process->lease;

	return lease->without_sharer.pid == process->record.id.pid &&
	       lease->without_sharer.start_ticks == process->record.id.start_ticks &&
	       lease->without_sharer_ns > process->noted_ns;
}

/* The child of a process that ended was reparented to the nearest ancestor that is a
 * subreaper, or to init. */
enum clv_lookup clv_shared_vm_find(
	const struct clv_attached *process, struct clv_process_id *ret)
{
	struct search search = {.of = process, .counted_ns = clv_clock_ns()};

	if (!process->has_slot || is_without_sharer(process))
		return CLV_ANSWER_NO;
	check_children(&search, &process->record.id);
	for (size_t i = 0; i < process->n_ancestors && may_continue(&search); i++)
		check_children(&search, &process->ancestors[i]);
	*ret = search.id;
	if (search.answer == CLV_ANSWER_NO) {
		process->lease->without_sharer = process->record.id;
		process->lease->without_sharer_ns = clv_clock_ns();
	}
	return search.answer;
}
