/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The operation's structures, shared by the files of apply. */
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
	DONE, /* this and the later ones are ends */
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

struct clv_operation {
	TAILQ_ENTRY(clv_operation) entry;
	struct clv_apply *apply;
	struct clv_apply_request request; /* its layout and layout_name are NULL */
	char id[CLV_LEASE_ID_MAX];
	enum state state;
	uint64_t revision; /* grows with every change */
	uint64_t started_real_ns, ended_real_ns;
	/* Layouts as text; before: the state to roll back to, NULL until the first
	 * step. */
	char *target, *before;
	struct clv_layout layout;
	struct stage *stages; /* the steps; `at` is the current one */
	size_t n_stages, at;
	json_t *obstacles;      /* of the last plan, or NULL */
	struct clv_error error; /* why it failed or is rolled back; code 0: it is not */
	/* What a roll-back cannot undo: devices that are gone, and a memory mode that a
	 * driver was asked for and keeps until it is reloaded (0: none). */
	char gone[160];
	uint32_t asked_memory;
	bool is_resumed; /* begun by an earlier agent */
	sd_event_source *timer;
};

struct clv_apply {
	struct clv_agent *agent;
	TAILQ_HEAD(operation_list, clv_operation)
	operations; /* oldest first; only the last may be under way */
	size_t n_operations;
};

/* The number of operations that are kept, here and in the journal. */
#define CLV_OPERATIONS_KEPT 32u

/* Adds an operation, owned by apply; the oldest may be freed.  NULL without memory. */
struct clv_operation *clv_operation_add(
	struct clv_apply *apply, const struct clv_apply_request *request);
/* Surveys the drivers, then plans and carries out. */
void clv_operation_survey(struct clv_operation *op);
/* Fails the operation, or rolls it back if anything was changed. */
void clv_operation_fail(struct clv_operation *op, const struct clv_error *why);

/* The names of the states, by enum state. */
extern const char *const clv_operation_states[_STATE_MAX];
