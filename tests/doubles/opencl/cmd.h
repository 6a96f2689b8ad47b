/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* The common part of every enqueue call:
 *
 *	cmd = dcl_cmd_begin(queue, type, n_waits, waits, event != NULL, &rc);
 *	if (!cmd)
 *		return rc;
 *	... fill cmd->op, cmd->u; pin memory with dcl_cmd_use() ...
 *	return dcl_cmd_commit(cmd, event);
 *
 * Between the two the queue's lock is held.  All of the caller's arguments but the queue
 * and the wait list are checked before begin, which checks those. */
struct dcl_cmd *dcl_cmd_begin(cl_command_queue queue, cl_command_type type,
	cl_uint n_waits, const cl_event *waits, bool wants_event, cl_int *rc);

/* The command uses this memory object until it is complete. */
void dcl_cmd_use(struct dcl_cmd *cmd, cl_mem mem);

/* Appends the command to the queue's unflushed ones. */
cl_int dcl_cmd_commit(struct dcl_cmd *cmd, cl_event *event);

/* The same, then flushes and waits for the command if `blocking`. */
cl_int dcl_cmd_commit_blocking(struct dcl_cmd *cmd, cl_event *event, cl_bool blocking);

/* Undoes begin. */
void dcl_cmd_cancel(struct dcl_cmd *cmd);

/* Passes all enqueued commands to the scheduler. */
void dcl_queue_flush(cl_command_queue queue);
void dcl_queue_finish(cl_command_queue queue);

/* Finishes every queue of the context, for a blocking free. */
void dcl_queues_finish_context(cl_context context);

/* Adds the counters of all queues, including destroyed ones. */
void dcl_queues_count(
	uint64_t *enqueued, uint64_t *kernels, uint64_t *flushes, uint64_t *completed);

/* Releases the memory objects without destructor callbacks. Called when the command has
 * run and before its completion is visible: a caller that sees the event complete and
 * releases a memory object must find its bytes free. */
void dcl_cmd_drop_plain_mems(struct dcl_cmd *cmd);

/* The objects of the command, except for its place in a queue. */
void dcl_cmd_free_op(struct dcl_cmd *cmd);

/* Frees a queue's slabs of commands with the queue. */
void dcl_queue_free_slabs(cl_command_queue queue);
