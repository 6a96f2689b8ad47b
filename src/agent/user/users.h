/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

struct clv_error;

/* The machine's user database, which may be a server that answers slowly or never.  After
 * clv_users_start() a thread asks it, and the loop's thread gets what is known already;
 * before, and in programs without a loop, a look-up waits.  One for each process; for the
 * loop's thread only. */

#define CLV_USER_NAME_MAX 64

struct clv_user {
	uid_t uid;
	gid_t gid;
	/* Who has what this one has: the user itself, or for a uid without an entry that
	 * is one of a user's subordinate uids (agent/user/subids.h) that user. */
	uid_t account;
	char name[CLV_USER_NAME_MAX];
};

/* on_found is called when a look-up has ended. */
int clv_users_start(sd_event *event, void (*on_found)(void *userdata), void *userdata,
	struct clv_error *err);
void clv_users_stop(void);

/* 0; -ENOENT: there is no such user; -EINPROGRESS: not known yet; or an error of the
 * database.  What is older than half a minute is looked up again, and used meanwhile.
 * Other errors than -EINPROGRESS leave all but ret->account as it is. */
int clv_users_by_uid(uid_t uid, struct clv_user *ret);
int clv_users_by_name(const char *name, struct clv_user *ret);

/* Whether the user is in the group: 1 or 0, or -EINPROGRESS.  Root and the agent's own
 * user, whom no settings limit, are in their primary groups only. */
int clv_users_is_in(const char *name, gid_t primary, gid_t group);
