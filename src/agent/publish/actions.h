/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

struct clv_caller;
struct clv_error;
struct clv_notify;

/* Actions that users ask for from those who publish.  The agent connects to none of them:
 * an action is kept in memory until its publisher, with the answer to a report, takes it
 * and then reports what came of it.  What an action is about only its sender and its
 * publisher know.  An action that waits or runs ends when its time is over, also without
 * a report, and is dropped ten minutes later.  Loop thread only. */
struct clv_actions;

enum clv_action_state {
	CLV_ACTION_WAITING, /* for its publisher */
	CLV_ACTION_RUNNING, /* its publisher has taken it */
	CLV_ACTION_DONE,
	CLV_ACTION_REFUSED, /* nothing was changed */
	CLV_ACTION_FAILED,  /* it was begun */
	CLV_ACTION_EXPIRED, /* its publisher did not take it in time */
	_CLV_ACTION_STATE_MAX,
};

#define CLV_ACTION_EXPIRES_S 30u
#define CLV_ACTION_EXPIRES_MAX_S 300u
#define CLV_ACTION_LINES_MAX 1000

struct clv_action {
	char id[17];        /* random, so that no later agent has another one of it */
	uint64_t publisher; /* number of its project */
	uid_t owner;        /* of the project */
	char tenant[64], project[64];
	char by[64]; /* who asked for it */
	enum clv_action_state state;
	bool is_admins;   /* the owner is an admin */
	bool is_sent;     /* its publisher may have it */
	bool is_presumed; /* it ended for lack of a report, and one may still come */
	uint64_t asked_real_ns, expires_real_ns, expires_ns;
	uint64_t heard_ns; /* last report of its publisher */
	uint64_t ended_ns;
	json_t *asked;  /* an object, as it was checked */
	char why[513];  /* it ended so; "": nothing is to say */
	json_t *output; /* a list of lines, or NULL */
	bool is_cut;    /* of the output the begin is missing */
};

/* notify: CLV_TOPIC_ACTIONS, when the time of an action is over. */
int clv_actions_new(sd_event *event, struct clv_notify *notify, struct clv_actions **ret,
	struct clv_error *err);
struct clv_actions *clv_actions_free(struct clv_actions *actions);

/* Whom a caller asks. */
struct clv_actions_to {
	uint64_t publisher;
	uid_t owner;
	bool is_admins; /* the owner is an admin */
	const char *tenant, *project;
};

/* Keeps an action for the publisher.  Takes asked, also when it fails.  *ret is borrowed
 * until the next call.  -EBUSY: too many wait. */
int clv_actions_add(struct clv_actions *actions, const struct clv_actions_to *to,
	const struct clv_caller *caller, json_t *asked, uint64_t expires_s,
	const struct clv_action **ret, struct clv_error *err);

/* The action of this id, if it is the caller's project's.  NULL with -ENOENT. */
const struct clv_action *clv_actions_find(struct clv_actions *actions,
	const struct clv_caller *caller, const char *id, struct clv_error *err);

/* The oldest action behind another one, or (NULL) of all, that the publisher has not
 * taken yet. */
const struct clv_action *clv_actions_next(
	struct clv_actions *actions, uint64_t publisher, const struct clv_action *after);
/* The publisher's answer has it. */
void clv_actions_mark_sent(struct clv_actions *actions, const struct clv_action *action);

/* Takes over what the publisher reports, a list of ActionResult, or NULL: that it is
 * there.  Returns whether an action has changed. */
bool clv_actions_settle(
	struct clv_actions *actions, uint64_t publisher, const json_t *results);
/* Another process publishes from now on: it gets what has not ended. */
void clv_actions_offer_again(struct clv_actions *actions, uint64_t publisher);
/* No process publishes any more.  Returns whether an action has changed. */
bool clv_actions_leave(struct clv_actions *actions, uint64_t publisher);

bool clv_action_has_ended(const struct clv_action *action);
const char *clv_action_state_to_string(enum clv_action_state state);
