/* SPDX-License-Identifier: Apache-2.0 */
/* What supervisors of services publish.  A supervisor is not trusted: the number of
 * projects and the size of each are bounded, and a user sees and replaces no other's. */
#include "agent/publish/published.h"

#include "agent/auth/caller.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#define PROJECTS_MAX 32u      /* of an owner */
#define ALL_PROJECTS_MAX 512u /* of all owners who are no admins */

struct entry {
	TAILQ_ENTRY(entry) all;
	struct clv_published *of;
	struct clv_published_project project;
	struct clv_process_id publisher;
	struct clv_watch *watch;
	char *text;
	bool is_admins;
};

struct clv_published {
	sd_event *event;
	uint64_t n_numbers;
	TAILQ_HEAD(, entry) entries; /* by number */
};

int clv_published_new(sd_event *event, struct clv_published **ret, struct clv_error *err)
{
	struct clv_published *published = calloc(1, sizeof(*published));

	if (!published)
		return clv_error_errno(err, ENOMEM, "cannot start the agent");
	published->event = event;
	TAILQ_INIT(&published->entries);
	*ret = published;
	return 0;
}

static void drop(struct entry *entry)
{
	TAILQ_REMOVE(&entry->of->entries, entry, all);
	clv_watch_free(entry->watch);
	free(entry->text);
	free(entry);
}

struct clv_published *clv_published_free(struct clv_published *published)
{
	while (published && !TAILQ_EMPTY(&published->entries))
		drop(TAILQ_FIRST(&published->entries));
	free(published);
	return NULL;
}

static void on_death(void *userdata)
{
	drop(userdata);
}

static struct entry *find(
	const struct clv_published *published, uid_t owner, const char *name)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, &published->entries, all)
	{
		if (entry->project.owner == owner &&
			strcmp(entry->project.name, name) == 0)
			return entry;
	}
	return NULL;
}

/* Admins have a room that others cannot fill. */
static int check_room(const struct clv_published *published,
	const struct clv_caller *caller, struct clv_error *err)
{
	bool is_admin = caller->scope == CLV_SCOPE_ADMIN;
	unsigned int n_own = 0, n_all = 0;
	struct entry *entry;

	TAILQ_FOREACH(entry, &published->entries, all)
	{
		n_own += entry->project.owner == caller->uid;
		n_all += !entry->is_admins;
	}
	if (n_own >= PROJECTS_MAX)
		return clv_error_set(err, -EBUSY,
			"%u projects of %s are published already: end one of them",
			PROJECTS_MAX, caller->subject);
	if (!is_admin && n_all >= ALL_PROJECTS_MAX)
		return clv_error_set(err, -EBUSY,
			"%u projects are published already: wait until one of them ends",
			ALL_PROJECTS_MAX);
	return 0;
}

static struct entry *add(struct clv_published *published, const struct clv_caller *caller,
	const char *name)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->of = published;
	entry->is_admins = caller->scope == CLV_SCOPE_ADMIN;
	entry->project = (struct clv_published_project){
		.number = ++published->n_numbers, .owner = caller->uid};
	snprintf(entry->project.name, sizeof(entry->project.name), "%s", name);
	snprintf(entry->project.tenant, sizeof(entry->project.tenant), "%s",
		caller->subject);
	TAILQ_INSERT_TAIL(&published->entries, entry, all);
	return entry;
}

/* The end of the latest publisher drops the project; it is the same process, or another
 * that has taken the services over. */
static int watch(struct entry *entry, const struct clv_peer *peer, int pidfd)
{
	if (entry->watch && entry->publisher.pid == peer->id.pid &&
		entry->publisher.start_ticks == peer->id.start_ticks) {
		close(pidfd);
		return 0;
	}
	entry->watch = clv_watch_free(entry->watch);
	entry->publisher = peer->id;
	return clv_watch_new(entry->of->event, pidfd, on_death, entry, &entry->watch);
}

int clv_published_put(struct clv_published *published, const struct clv_caller *caller,
	const struct clv_peer *peer, int pidfd, const char *name, char *text,
	struct clv_error *err)
{
	struct entry *entry = find(published, caller->uid, name);
	int r = entry ? 0 : check_room(published, caller, err);

	if (r >= 0 && !entry) {
		entry = add(published, caller, name);
		r = entry ? 0 : clv_error_errno(err, ENOMEM, "cannot keep the project");
	}
	if (r < 0) {
		close(pidfd);
		free(text);
		return r;
	}
	free(entry->text);
	entry->text = text;
	entry->project.text = text;
	r = watch(entry, peer, pidfd);
	if (r >= 0)
		return 0;
	drop(entry);
	return clv_error_errno(err, -r, "cannot watch the supervisor");
}

const struct clv_published_project *clv_published_next(
	const struct clv_published *published, const struct clv_caller *caller,
	uint64_t number)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, &published->entries, all)
	{
		if (entry->project.number > number &&
			clv_caller_sees(caller, entry->project.owner))
			return &entry->project;
	}
	return NULL;
}
