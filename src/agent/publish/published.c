/* SPDX-License-Identifier: Apache-2.0 */
/* What supervisors of services publish.  A supervisor is not trusted: the number of
 * projects and the size of each are bounded, and a user sees and replaces no other's. */
#include "agent/publish/published.h"

#include "agent/auth/caller.h"
#include "agent/publish/actions.h"
#include "agent/record/notify.h"
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
};

struct clv_published {
	sd_event *event;
	struct clv_notify *notify;
	struct clv_actions *actions;
	uint64_t n_numbers;
	TAILQ_HEAD(, entry) entries; /* by number */
};

int clv_published_new(sd_event *event, struct clv_notify *notify,
	struct clv_published **ret, struct clv_error *err)
{
	struct clv_published *published = calloc(1, sizeof(*published));
	int r = published ? clv_actions_new(event, notify, &published->actions, err)
			  : clv_error_errno(err, ENOMEM, "cannot start the agent");

	if (r < 0) {
		free(published);
		return r;
	}
	published->event = event;
	published->notify = notify;
	TAILQ_INIT(&published->entries);
	*ret = published;
	return 0;
}

struct clv_actions *clv_published_get_actions(const struct clv_published *published)
{
	return published->actions;
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
	if (published)
		clv_actions_free(published->actions);
	free(published);
	return NULL;
}

/* A publisher that is gone takes no action any more. */
static void leave(struct entry *entry)
{
	struct clv_published *published = entry->of;
	uint64_t number = entry->project.number;

	drop(entry);
	if (clv_actions_leave(published->actions, number))
		clv_notify_changed(published->notify, CLV_TOPIC_ACTIONS);
}

static void on_death(void *userdata)
{
	leave(userdata);
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
		n_all += !entry->project.is_admins;
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
	entry->project = (struct clv_published_project){.number = ++published->n_numbers,
		.owner = caller->uid,
		.is_admins = caller->scope == CLV_SCOPE_ADMIN};
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
	if (entry->watch)
		clv_actions_offer_again(entry->of->actions, entry->project.number);
	entry->watch = clv_watch_free(entry->watch);
	entry->publisher = peer->id;
	return clv_watch_new(entry->of->event, pidfd, on_death, entry, &entry->watch);
}

int clv_published_put(struct clv_published *published, const struct clv_caller *caller,
	const struct clv_peer *peer, int pidfd, const char *name, char *text,
	uint64_t *ret_number, struct clv_error *err)
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
	*ret_number = entry->project.number;
	r = watch(entry, peer, pidfd);
	if (r >= 0)
		return 0;
	leave(entry);
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

const struct clv_published_project *clv_published_find(
	const struct clv_published *published, const struct clv_caller *caller,
	const char *tenant, const char *name, struct clv_error *err)
{
	const struct entry *entry;

	TAILQ_FOREACH(entry, &published->entries, all)
	{
		const struct clv_published_project *project = &entry->project;

		if (strcmp(project->name, name) == 0 &&
			clv_caller_sees(caller, project->owner) &&
			(tenant ? strcmp(project->tenant, tenant) == 0
				: project->owner == caller->uid))
			return project;
	}
	clv_error_set(err, -ENOENT,
		"no supervisor of a project %s of %s runs on this node: GET /v1/projects "
		"lists those that run, cleave up starts one",
		name, tenant ? tenant : caller->subject);
	return NULL;
}

bool clv_published_is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t n = strlen(name);

	return n > 0 && n < CLV_PUBLISHED_NAME_MAX && strspn(name, letters) == n &&
	       name[0] != '-' && name[0] != '_';
}
