/* SPDX-License-Identifier: Apache-2.0 */
/* Actions for publishers: a bounded list, by time.  A publisher is given an action until
 * it says that it has it: the connection of an answer may be lost.  Of an action that was
 * given, and of which nothing is heard, it is not known whether it was carried out: the
 * reason says so. */
#include "agent/publish/actions.h"

#include "agent/auth/caller.h"
#include "agent/record/notify.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#define OPEN_MAX_OF_PUBLISHER 8u
#define KEPT_MAX_OF_OWNER 16u
#define KEPT_MAX 256u
#define KEPT_NS (600 * CLV_NS_PER_S)
#define SILENT_NS (60 * CLV_NS_PER_S)

struct entry {
	TAILQ_ENTRY(entry) all;
	struct clv_action action;
};

struct clv_actions {
	struct clv_notify *notify;
	sd_event_source *timer;
	TAILQ_HEAD(list, entry) entries; /* by time */
};

static const char *const states[_CLV_ACTION_STATE_MAX] = {
	[CLV_ACTION_WAITING] = "waiting",
	[CLV_ACTION_RUNNING] = "running",
	[CLV_ACTION_DONE] = "done",
	[CLV_ACTION_REFUSED] = "refused",
	[CLV_ACTION_FAILED] = "failed",
	[CLV_ACTION_EXPIRED] = "expired",
};

const char *clv_action_state_to_string(enum clv_action_state state)
{
	return states[state];
}

bool clv_action_has_ended(const struct clv_action *action)
{
	return action->state != CLV_ACTION_WAITING && action->state != CLV_ACTION_RUNNING;
}

static void drop(struct clv_actions *actions, struct entry *entry)
{
	TAILQ_REMOVE(&actions->entries, entry, all);
	json_decref(entry->action.asked);
	json_decref(entry->action.output);
	free(entry);
}

struct clv_actions *clv_actions_free(struct clv_actions *actions)
{
	if (!actions)
		return NULL;
	while (!TAILQ_EMPTY(&actions->entries))
		drop(actions, TAILQ_FIRST(&actions->entries));
	sd_event_source_disable_unref(actions->timer);
	free(actions);
	return NULL;
}

static void end(struct clv_action *action, enum clv_action_state state, const char *why)
{
	action->state = state;
	action->ended_ns = clv_clock_ns();
	action->is_presumed = false;
	snprintf(action->why, sizeof(action->why), "%s", why);
}

/* --- Time --- */

/* When the time of its state is over. */
static uint64_t due_ns(const struct clv_action *action)
{
	if (action->state == CLV_ACTION_WAITING)
		return action->expires_ns;
	if (action->state == CLV_ACTION_RUNNING)
		return action->heard_ns + SILENT_NS;
	return action->ended_ns + KEPT_NS;
}

static void expire(struct clv_action *action)
{
	if (action->state == CLV_ACTION_RUNNING)
		end(action, CLV_ACTION_FAILED,
			"its supervisor has reported nothing for a minute: it may go on");
	else if (action->is_sent)
		end(action, CLV_ACTION_EXPIRED,
			"its supervisor was given it and has not answered: it may have "
			"been carried out");
	else
		end(action, CLV_ACTION_EXPIRED,
			"its supervisor did not take it in time: nothing was changed");
	action->is_presumed = action->is_sent;
}

/* Ends what waits or runs for too long, and drops what has ended long ago: its output may
 * have secrets. */
static void keep_time(struct clv_actions *actions)
{
	uint64_t now_ns = clv_clock_ns();
	struct entry *entry = TAILQ_FIRST(&actions->entries);
	bool has_changed = false;

	while (entry) {
		struct entry *next = TAILQ_NEXT(entry, all);

		if (now_ns >= due_ns(&entry->action)) {
			has_changed |= !clv_action_has_ended(&entry->action);
			if (clv_action_has_ended(&entry->action))
				drop(actions, entry);
			else
				expire(&entry->action);
		}
		entry = next;
	}
	if (has_changed)
		clv_notify_changed(actions->notify, CLV_TOPIC_ACTIONS);
}

/* Sets the timer to the next time at which an action is due. */
static void arm(struct clv_actions *actions)
{
	uint64_t next_ns = UINT64_MAX;
	const struct entry *entry;

	TAILQ_FOREACH(entry, &actions->entries, all)
	{
		if (due_ns(&entry->action) < next_ns)
			next_ns = due_ns(&entry->action);
	}
	sd_event_source_set_time(actions->timer, next_ns / CLV_NS_PER_US + 1);
	sd_event_source_set_enabled(
		actions->timer, next_ns == UINT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

static int on_time(sd_event_source *source, uint64_t at_us, void *userdata)
{
	struct clv_actions *actions = userdata;

	keep_time(actions);
	arm(actions);
	return 0;
}

int clv_actions_new(sd_event *event, struct clv_notify *notify, struct clv_actions **ret,
	struct clv_error *err)
{
	struct clv_actions *actions = calloc(1, sizeof(*actions));
	int r = actions ? 0 : -ENOMEM;

	if (r >= 0)
		r = sd_event_add_time(event, &actions->timer, CLOCK_MONOTONIC, UINT64_MAX,
			CLV_NS_PER_S / CLV_NS_PER_US / 10, on_time, actions);
	if (r < 0) {
		free(actions);
		return clv_error_errno(err, -r, "cannot start the agent");
	}
	actions->notify = notify;
	TAILQ_INIT(&actions->entries);
	*ret = actions;
	return 0;
}

/* --- Room --- */

struct counts {
	size_t n_all; /* of owners who are no admins */
	size_t n_of_owner, n_open;
};

static struct counts count(
	const struct clv_actions *actions, const struct clv_actions_to *to)
{
	struct counts counts = {0};
	const struct entry *entry;

	TAILQ_FOREACH(entry, &actions->entries, all)
	{
		counts.n_all += !entry->action.is_admins;
		counts.n_of_owner += entry->action.owner == to->owner;
		counts.n_open += entry->action.publisher == to->publisher &&
				 !clv_action_has_ended(&entry->action);
	}
	return counts;
}

/* Drops the oldest one that has ended: of an owner, or (NULL) of all who are no admins.
 * Returns whether there was one. */
static bool drop_ended(struct clv_actions *actions, const uid_t *owner)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, &actions->entries, all)
	{
		if (clv_action_has_ended(&entry->action) &&
			(owner ? entry->action.owner == *owner
			       : !entry->action.is_admins)) {
			drop(actions, entry);
			return true;
		}
	}
	return false;
}

/* Admins have a room that others cannot fill.  The results of others are the last to go.
 */
static int make_room(struct clv_actions *actions, const struct clv_actions_to *to,
	struct clv_error *err)
{
	struct counts counts;
	bool is_owner_full, is_full;

	keep_time(actions);
	counts = count(actions, to);
	is_owner_full = counts.n_of_owner >= KEPT_MAX_OF_OWNER;
	is_full = is_owner_full || (!to->is_admins && counts.n_all >= KEPT_MAX);
	if (counts.n_open >= OPEN_MAX_OF_PUBLISHER)
		return clv_error_set(err, -EBUSY,
			"%u actions wait for the supervisor of %s already: wait until "
			"one of them has ended",
			OPEN_MAX_OF_PUBLISHER, to->project);
	if (!is_full || drop_ended(actions, &to->owner) ||
		(!is_owner_full && drop_ended(actions, NULL)))
		return 0;
	return clv_error_set(err, -EBUSY,
		"too many actions wait for supervisors: wait until one of them has "
		"ended");
}

/* --- The sender --- */

int clv_actions_add(struct clv_actions *actions, const struct clv_actions_to *to,
	const struct clv_caller *caller, json_t *asked, uint64_t expires_s,
	const struct clv_action **ret, struct clv_error *err)
{
	struct entry *entry = NULL;
	uint64_t number, now_ns = clv_clock_ns();
	int r = make_room(actions, to, err);

	if (r >= 0 && !(entry = calloc(1, sizeof(*entry))))
		r = clv_error_errno(err, ENOMEM, "cannot keep the action");
	if (r >= 0 && getrandom(&number, sizeof(number), 0) != sizeof(number))
		r = clv_error_errno(err, errno, "no random numbers");
	if (r < 0) {
		free(entry);
		json_decref(asked);
		return r;
	}
	entry->action = (struct clv_action){
		.publisher = to->publisher,
		.owner = to->owner,
		.is_admins = to->is_admins,
		.asked_real_ns = clv_clock_real_ns(),
		.expires_ns = now_ns + expires_s * CLV_NS_PER_S,
		.asked = asked,
	};
	entry->action.expires_real_ns =
		entry->action.asked_real_ns + expires_s * CLV_NS_PER_S;
	snprintf(entry->action.id, sizeof(entry->action.id), "%016" PRIx64, number);
	snprintf(entry->action.tenant, sizeof(entry->action.tenant), "%s", to->tenant);
	snprintf(entry->action.project, sizeof(entry->action.project), "%s", to->project);
	snprintf(entry->action.by, sizeof(entry->action.by), "%s", caller->subject);
	TAILQ_INSERT_TAIL(&actions->entries, entry, all);
	arm(actions);
	*ret = &entry->action;
	return 0;
}

static struct clv_action *find(const struct clv_actions *actions, const char *id)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, &actions->entries, all)
	{
		if (strcmp(entry->action.id, id) == 0)
			return &entry->action;
	}
	return NULL;
}

const struct clv_action *clv_actions_find(struct clv_actions *actions,
	const struct clv_caller *caller, const char *id, struct clv_error *err)
{
	struct clv_action *action;

	keep_time(actions);
	action = find(actions, id);
	if (action && clv_caller_sees(caller, action->owner))
		return action;
	clv_error_set(err, -ENOENT,
		"no such action is known: the agent keeps one for at most ten minutes "
		"after its end, in memory");
	return NULL;
}

/* --- The publisher --- */

static struct entry *entry_of(const struct clv_action *action)
{
	return (struct entry *)((char *)action - offsetof(struct entry, action));
}

const struct clv_action *clv_actions_next(
	struct clv_actions *actions, uint64_t publisher, const struct clv_action *after)
{
	struct entry *entry =
		after ? TAILQ_NEXT(entry_of(after), all) : TAILQ_FIRST(&actions->entries);
	uint64_t now_ns = clv_clock_ns();

	for (; entry; entry = TAILQ_NEXT(entry, all)) {
		if (entry->action.publisher == publisher &&
			entry->action.state == CLV_ACTION_WAITING &&
			now_ns < due_ns(&entry->action))
			return &entry->action;
	}
	return NULL;
}

void clv_actions_mark_sent(struct clv_actions *actions, const struct clv_action *action)
{
	entry_of(action)->action.is_sent = true;
}

static enum clv_action_state state_of(const json_t *result)
{
	const char *text = json_string_value(json_object_get(result, "state"));
	size_t state = 0;

	while (state < CLV_ARRAY_SIZE(states) - 1 && strcmp(states[state], text) != 0)
		state++;
	return (enum clv_action_state)state;
}

/* Also one that has ended for lack of a report: then it was carried out after all. */
static bool may_settle(const struct clv_action *action, uint64_t publisher)
{
	return action->publisher == publisher &&
	       (!clv_action_has_ended(action) || action->is_presumed);
}

static bool settle(struct clv_action *action, const json_t *result)
{
	const json_t *output = json_object_get(result, "output");
	enum clv_action_state state = state_of(result);

	if (state == action->state && !action->is_presumed)
		return false;
	action->is_sent = true;
	end(action, state, json_string_value(json_object_get(result, "why")));
	if (output)
		action->output = json_incref((json_t *)output);
	action->is_cut = json_is_true(json_object_get(result, "cut"));
	return true;
}

bool clv_actions_settle(
	struct clv_actions *actions, uint64_t publisher, const json_t *results)
{
	bool has_changed = false;
	struct entry *entry;
	json_t *result;
	size_t i;

	keep_time(actions);
	json_array_foreach (results, i, result) {
		struct clv_action *action =
			find(actions, json_string_value(json_object_get(result, "id")));

		if (action && may_settle(action, publisher))
			has_changed |= settle(action, result);
	}
	TAILQ_FOREACH(entry, &actions->entries, all)
	{
		if (entry->action.publisher == publisher)
			entry->action.heard_ns = clv_clock_ns();
	}
	arm(actions);
	return has_changed;
}

void clv_actions_offer_again(struct clv_actions *actions, uint64_t publisher)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, &actions->entries, all)
	{
		if (entry->action.publisher == publisher &&
			entry->action.state == CLV_ACTION_RUNNING)
			entry->action.state = CLV_ACTION_WAITING;
	}
}

bool clv_actions_leave(struct clv_actions *actions, uint64_t publisher)
{
	bool has_changed = false;
	struct entry *entry;

	TAILQ_FOREACH(entry, &actions->entries, all)
	{
		struct clv_action *action = &entry->action;

		if (action->publisher != publisher || clv_action_has_ended(action))
			continue;
		has_changed = true;
		if (action->is_sent)
			end(action, CLV_ACTION_FAILED,
				"its supervisor ended and has not said what came of it");
		else
			end(action, CLV_ACTION_REFUSED,
				"its supervisor ended: nothing was changed");
	}
	arm(actions);
	return has_changed;
}
