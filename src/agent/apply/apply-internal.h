/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The operation's structures, shared by the files of apply. */
#include "agent/apply/apply-marks.h"
#include "agent/apply/apply.h"
#include "agent/lease/lease.h"
#include "base/error.h"
#include "core/plan/plan.h"

#include <sys/queue.h>
#include <systemd/sd-event.h>

enum state {
	SURVEYING,
	WAITING,
	RUNNING,
	ROLLING_BACK,
	DONE, /* this and the following states are final */
	FAILED,
	ROLLED_BACK,
	_STATE_MAX,
};

/* One step of the plan of an operation. */
struct stage {
	struct clv_step step; /* without its list of affected */
	char uuid[96];
	char device[72];
	char text[256]; /* for people */
	uint64_t began_ns, took_ns;
	bool has_failed;
};

/* A device that a roll-back could not put back. */
struct left {
	char uuid[96];
	char why[200];
};

struct clv_operation {
	TAILQ_ENTRY(clv_operation) entry;
	struct clv_apply *apply;
	struct clv_apply_request request; /* its layout and layout_name are NULL */
	char id[CLV_LEASE_ID_MAX];
	enum state state;
	uint64_t revision; /* grows with every change */
	uint64_t started_real_ns, ended_real_ns;
	/* Layouts as text.  written: as its user wrote it, NULL for a change of one
	 * partition.  target and before have devices by UUID only; target: NULL until the
	 * node is known; before: the state of its devices to roll back to, NULL until the
	 * first step. */
	char *written, *target, *before;
	/* The target by the survey before that of this operation, for the next agent;
	 * NULL: there is none. */
	char *expected;
	struct clv_layout layout; /* as target, once there is one */
	struct stage *stages;     /* the steps; `at` is the current one */
	size_t n_stages, at;
	json_t *obstacles;        /* of the last plan, or NULL */
	struct clv_error error;   /* why it failed or is rolled back; code 0: neither */
	struct clv_layout former; /* as before */
	struct clv_marks marks;   /* of the last plan */
	/* What a roll-back cannot undo: devices, and a memory mode that a driver was
	 * asked for and keeps until it is reloaded (0: none). */
	struct left *left;
	size_t n_left;
	bool may_pass;     /* the last plan excluded devices that are gone or in use */
	json_t *left_json; /* `left` at the end, with the steps that remain; or NULL */
	uint32_t asked_memory;
	bool has_claimed;     /* locks of devices */
	bool has_steps;       /* is carrying steps out, until it plans again */
	bool is_recorded;     /* the journal has it */
	enum state recorded;  /* in this state */
	bool is_resumed;      /* begun by an earlier agent */
	unsigned int n_tries; /* failed tries since the last progress */
	/* At the end: the kept layout with this one in it, as a text to show and with
	 * devices by UUID; NULL: this layout is not kept. */
	char *kept_text, *kept;
	sd_event_source *timer; /* after the end: the end is not recorded yet */
};

struct clv_apply {
	struct clv_agent *agent;
	TAILQ_HEAD(operation_list, clv_operation)
	operations; /* oldest first */
	size_t n_operations;
	/* Of agent/layout/reapply.h, which is above this; NULL: there is none.  ended: an
	 * operation has ended; marks: what the i-th device is about to be changed for,
	 * NULL behind the last. */
	void (*ended)(void *userdata, const struct clv_operation *op);
	const struct clv_marks *(*marks)(const void *userdata, size_t i);
	void *userdata;
};

/* The number of operations that are kept once they have ended, here and in the journal.
 */
#define CLV_OPERATIONS_KEPT 32u

/* Adds an operation, owned by apply; the oldest may be freed.  NULL if out of memory. */
struct clv_operation *clv_operation_add(
	struct clv_apply *apply, const struct clv_apply_request *request);
/* Surveys the drivers, then plans and carries out. */
void clv_operation_survey(struct clv_operation *op);
/* Fails the operation, or rolls it back if anything was changed. */
void clv_operation_fail(struct clv_operation *op, const struct clv_error *why);
/* Takes the locks of the devices that the plan changes or affects; -EADDRINUSE: another
 * agent has one.  They are released at the operation's end. */
int clv_operation_claim(struct clv_operation *op, const struct clv_plan *plan,
	const struct clv_node *node, struct clv_error *err);
void clv_operation_unclaim(struct clv_operation *op);

/* apply-journal.c.  A step that cannot be recorded is not begun, unless it belongs to a
 * roll-back, so that a full disk leaves no device incomplete.  Until the disk has room
 * again, the next agent would resume from the last recorded state. */
int clv_operation_write(struct clv_operation *op, struct clv_error *err);
/* Records a new operation if its caller is told that it is accepted, with the key of the
 * request. */
int clv_operation_accept(struct clv_operation *op, struct clv_error *err);
/* Records the end, now or as soon as the disk has room. */
void clv_operation_write_end(struct clv_operation *op);
/* Fills in the request, except for the layout, from its JSON in the journal. */
void clv_operation_take_request(struct clv_apply_request *request, const char *json);

/* apply-others.c.  Adds the devices that the operation changes, affects or would restore;
 * if its layout is not resolved yet, the devices that the selectors match. */
void clv_operation_touch(
	const struct clv_operation *op, const struct clv_node *node, bool *is_touched);
/* Whether another operation, which has begun its steps, has a device in common with this
 * one and must end before it. */
bool clv_operation_is_behind(const struct clv_operation *op, const struct clv_node *node);
/* -EBUSY: the operation would change a device of another that is under way. */
int clv_operation_check_others(const struct clv_operation *op,
	const struct clv_node *node, struct clv_error *err);

/* apply-kept.c.  Replaces the kept layout on the devices of the operation, and stores
 * it. */
int clv_operation_keep(struct clv_operation *op, struct clv_error *err);
/* Whether the layout, which is resolved, selects the device. */
bool clv_operation_selects(const struct clv_operation *op, const char *identity);
/* Moves the rule to the end of the layout.  -ENOMEM */
int clv_operation_move_rule(struct clv_layout *to, struct clv_layout_rule *rule);

/* The names of the states, by enum state. */
extern const char *const clv_operation_states[_STATE_MAX];
