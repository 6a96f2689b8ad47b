/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What an operation consists of: for apply.c, and for what shows it. */
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
	DONE, /* from here on it has ended */
	FAILED,
	ROLLED_BACK,
	_STATE_MAX,
};

/* One step of the plan that is being carried out, as people see it. */
struct stage {
	struct clv_step step;
	char uuid[96];
	char device[72];
	char text[256];
	uint64_t began_ns, took_ns;
	bool has_failed;
};

struct clv_operation {
	TAILQ_ENTRY(clv_operation) entry;
	struct clv_apply *apply;
	struct clv_apply_request request; /* without its texts */
	char id[CLV_LEASE_ID_MAX];
	enum state state;
	uint64_t revision;
	uint64_t started_real_ns, ended_real_ns;
	char *target, *before; /* layouts; before: NULL as long as nothing was changed */
	struct clv_layout layout;
	struct stage *stages;
	size_t n_stages, at;
	json_t *obstacles;
	struct clv_error error;
	/* What a roll-back cannot take back: devices that are gone, and a memory mode
	 * that a driver was asked for and keeps until its next reload. */
	char gone[160];
	uint32_t asked_memory;
	bool is_resumed; /* an earlier agent began it */
	sd_event_source *timer;
};

struct clv_apply {
	struct clv_agent *agent;
	TAILQ_HEAD(operation_list, clv_operation)
	operations; /* the last may be running */
	size_t n_operations;
};

/* How many that have ended are remembered, here and in the journal. */
#define CLV_OPERATIONS_KEPT 32u

/* A new one, owned by apply; NULL without memory. */
struct clv_operation *clv_operation_add(
	struct clv_apply *apply, const struct clv_apply_request *request);
/* Asks the drivers, and goes on from there. */
void clv_operation_survey(struct clv_operation *op);
/* Ends it, or turns it round if anything was changed. */
void clv_operation_fail(struct clv_operation *op, const struct clv_error *why);

extern const char *const clv_operation_states[_STATE_MAX];
