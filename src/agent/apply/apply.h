/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/layout/layout.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct clv_agent;
struct clv_error;
struct clv_node;

/* Operations: changes of the node's partitions.  An operation surveys the drivers, makes
 * a plan, waits for holders if the layout says so, carries out step after step, and rolls
 * back when a step fails.  Operations under way have no device in common.  The journal
 * is written when an operation is accepted and before each step.  If the agent dies, the
 * next one plans again from the state of the hardware, towards the same target.  Loop
 * thread only. */
struct clv_apply;

struct clv_operation;

/* A change of the node: a layout, or one partition to create or to destroy. */
struct clv_apply_request {
	char what[128]; /* "apply layout.yaml" */
	uid_t uid;
	const char *layout;      /* its text; NULL: create or destroy a partition */
	const char *layout_name; /* for errors */
	bool has_on_busy;        /* on_busy replaces the layout's */
	enum clv_on_busy on_busy;
	/* To create: `count` partitions of the profile on the device, at `start` (-1:
	 * anywhere). */
	char device[96];
	char profile[CLV_PROFILE_NAME_MAX];
	uint32_t count;
	int32_t start;
	char partition[CLV_PARTITION_NAME_MAX]; /* to destroy; "": create */
	bool keeps_layout;   /* apply the layout again whenever an agent starts */
	bool forgets_others; /* and drop what earlier layouts say of other devices */
	bool is_again; /* applies the kept layout again, to one device: destroy nothing */
	bool turns_off;       /* turn MIG off with the last partition of the device */
	bool is_for_lease;    /* the partition is destroyed when its lease ends */
	bool is_acknowledged; /* its caller is told before it begins: it is recorded */
};

int clv_apply_new(struct clv_agent *agent, struct clv_apply **ret, struct clv_error *err);
struct clv_apply *clv_apply_free(struct clv_apply *apply);

/* Call once the state file is open: resumes the operations that an earlier agent left
 * unfinished. */
void clv_apply_resume(struct clv_apply *apply);

/* Starts an operation; *ret is owned by apply.  -EBUSY while another on one of its
 * devices is under way; -EIO or -ENOSPC if it cannot be recorded; or the error of parsing
 * the layout. */
int clv_apply_start(struct clv_apply *apply, const struct clv_apply_request *request,
	struct clv_operation **ret, struct clv_error *err);

/* Cancels an operation that has not begun its steps; -CLV_E_IN_USE when it has. 0 also
 * when it has ended. */
int clv_apply_cancel(
	struct clv_apply *apply, struct clv_operation *operation, struct clv_error *err);

/* Finds an operation of this agent, also a resumed one; NULL with -ENOENT. */
struct clv_operation *clv_apply_find(
	struct clv_apply *apply, const char *id, struct clv_error *err);
/* The i-th, oldest first; NULL after the last. */
struct clv_operation *clv_apply_at(struct clv_apply *apply, size_t i);
/* An array of the operations that ended before this agent started, oldest first; never
 * NULL. */
json_t *clv_apply_past(struct clv_apply *apply);
/* Whether an operation is under way. */
bool clv_apply_is_busy(const struct clv_apply *apply);
/* Whether an operation that has the device is under way and not merely waiting. */
bool clv_apply_changes(
	const struct clv_apply *apply, const struct clv_node *node, const char *device);
/* Whether clv_apply_start() refuses a change of the device at present, because another
 * operation has it, also one that merely waits. */
bool clv_apply_would_refuse(
	const struct clv_apply *apply, const struct clv_node *node, const char *device);
/* Marks the devices of the node that an operation for the request would have; none if its
 * layout is not valid. */
void clv_apply_touch(const struct clv_apply_request *request, const struct clv_node *node,
	bool *is_touched);

const char *clv_operation_id(const struct clv_operation *operation);
/* Grows with every change of the operation. */
uint64_t clv_operation_revision(const struct clv_operation *operation);
bool clv_operation_has_ended(const struct clv_operation *operation);
/* The last partition that the operation created; "" until it is done. */
const char *clv_operation_created(const struct clv_operation *operation);
/* Copies the operation's error to *err and returns its code; -ETIMEDOUT if there is
 * none. */
int clv_operation_error(const struct clv_operation *operation, struct clv_error *err);
json_t *clv_operation_to_json(const struct clv_operation *operation);
