/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/layout/layout.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct clv_agent;
struct clv_error;

/* Operations: changes of the node's partitions, one at a time.  Each goes from a survey
 * to a plan, waits for holders if it is to, carries out one step after the other, and
 * goes back to what was before when a step fails.  The journal is written before and
 * after every step, and the next agent goes on where this one was killed: what to do is
 * planned anew from what the hardware shows, towards the same end.  Loop thread only. */
struct clv_apply;

struct clv_operation;

/* What is wanted: a layout, or one partition more or less. */
struct clv_apply_request {
	char what[128]; /* "apply layout.yaml" */
	uid_t uid;
	const char *layout; /* its text, or NULL: then one of the two below */
	const char *layout_name;
	bool has_on_busy;
	enum clv_on_busy on_busy;
	/* One more: of the device, of this profile, so many, at this place (-1: any). */
	char device[96];
	char profile[CLV_PROFILE_NAME_MAX];
	uint32_t count;
	int32_t start;
	char partition[CLV_PARTITION_NAME_MAX]; /* one less */
	bool keeps_layout; /* to be applied again when the agent starts */
	bool is_again;     /* that */
	bool turns_off;    /* MIG, when it was the last partition of its device */
	bool is_for_lease; /* what is made goes with its lease */
};

int clv_apply_new(struct clv_agent *agent, struct clv_apply **ret, struct clv_error *err);
struct clv_apply *clv_apply_free(struct clv_apply *apply);

/* Goes on with what an earlier agent left unfinished, else sees to it that the layout
 * that was last applied still holds. */
void clv_apply_resume(struct clv_apply *apply);

/* 0, or -EBUSY while another one is under way, -EINVAL for a wrong layout. */
int clv_apply_start(struct clv_apply *apply, const struct clv_apply_request *request,
	struct clv_operation **ret, struct clv_error *err);

/* Ends one that waits; -EBUSY when it is running. */
int clv_apply_cancel(
	struct clv_apply *apply, struct clv_operation *operation, struct clv_error *err);

/* Of this agent's time, or gone on with by it; NULL with -ENOENT. */
struct clv_operation *clv_apply_find(
	struct clv_apply *apply, const char *id, struct clv_error *err);
/* The i-th, oldest first; NULL behind the last. */
struct clv_operation *clv_apply_at(struct clv_apply *apply, size_t i);
/* The ones that ended in an earlier agent's time, as JSON, oldest first; never NULL. */
json_t *clv_apply_past(struct clv_apply *apply);
bool clv_apply_is_busy(const struct clv_apply *apply);
/* Busy with what the agent does of its own accord when it starts: that is over soon, and
 * whoever has just had it started need not hear of it. */
bool clv_apply_is_starting(const struct clv_apply *apply);

const char *clv_operation_id(const struct clv_operation *operation);
/* Grows with every change. */
uint64_t clv_operation_revision(const struct clv_operation *operation);
bool clv_operation_has_ended(const struct clv_operation *operation);
/* The partition that was made last, once all is done; "" before. */
const char *clv_operation_created(const struct clv_operation *operation);
/* Why it failed: stores and returns the code. */
int clv_operation_error(const struct clv_operation *operation, struct clv_error *err);
json_t *clv_operation_to_json(const struct clv_operation *operation);
