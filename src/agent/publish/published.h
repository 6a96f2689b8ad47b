/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/os/processes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

struct clv_actions;
struct clv_caller;
struct clv_error;
struct clv_notify;

/* Projects of services, as their supervisors describe them for others to see.  The agent
 * starts no service and asks no supervisor: a description is kept in memory, as it was
 * published last, and dropped when the process ends that published it.  Loop thread only.
 */
struct clv_published;

#define CLV_PUBLISHED_NAME_MAX 48

/* A project: of one owner, by name. */
struct clv_published_project {
	uint64_t number; /* from 1, in the order in which projects came */
	uid_t owner;
	bool is_admins; /* the owner is an admin */
	char tenant[64];
	char name[CLV_PUBLISHED_NAME_MAX];
	const char *text; /* JSON, as it was parsed */
};

/* Whether the text can be the name of a project. */
bool clv_published_is_name(const char *name);

int clv_published_new(sd_event *event, struct clv_notify *notify,
	struct clv_published **ret, struct clv_error *err);
struct clv_published *clv_published_free(struct clv_published *published);

/* Actions that users ask for from the publishers; borrowed. */
struct clv_actions *clv_published_get_actions(const struct clv_published *published);

/* Replaces the caller's project of this name by text.  Takes pidfd, of the process that
 * publishes it, and text, also when it fails.  *ret_number is the number of the project.
 * -EBUSY: the caller has too many. */
int clv_published_put(struct clv_published *published, const struct clv_caller *caller,
	const struct clv_peer *peer, int pidfd, const char *name, char *text,
	uint64_t *ret_number, struct clv_error *err);

/* The first project with a larger number that the caller may see; NULL: there is none.
 * Borrowed until the next call of put, or until the loop runs. */
const struct clv_published_project *clv_published_next(
	const struct clv_published *published, const struct clv_caller *caller,
	uint64_t number);

/* The project of a tenant, or (NULL) the caller's own, if the caller may see it; borrowed
 * as above.  NULL with -ENOENT: no process publishes it. */
const struct clv_published_project *clv_published_find(
	const struct clv_published *published, const struct clv_caller *caller,
	const char *tenant, const char *name, struct clv_error *err);
