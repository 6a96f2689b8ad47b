/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"
#include "alive.h"
#include "knobs.h"
#include "object.h"
#include "schedule.h"
#include "svm.h"
#include <stdlib.h>
#include <string.h>

/* A command before the scheduler knows it: taken from the queue's own list, filled,
 * appended. No system call, no allocation once the queue is warm, no event unless the
 * caller asks for one; nothing here wakes a thread. */

#define CMDS_PER_SLAB 64
#define DCL_MEMS_STEP 64

struct dcl_slab {
	struct dcl_slab *next;
	struct dcl_cmd cmds[CMDS_PER_SLAB];
};

void dcl_queue_free_slabs(cl_command_queue queue)
{
	struct dcl_slab *slab, *next;

	for (slab = queue->slabs; slab; slab = next) {
		next = slab->next;
		free(slab);
	}
	queue->slabs = NULL;
}

static struct dcl_cmd *cmd_take(cl_command_queue q)
{
	struct dcl_cmd *cmd = q->idle;
	struct dcl_slab *slab;

	if (!cmd)
		cmd = atomic_exchange_explicit(&q->returned, NULL, memory_order_acquire);
	if (!cmd) {
		slab = calloc(1, sizeof(*slab));
		if (!slab)
			return NULL;
		slab->next = q->slabs;
		q->slabs = slab;
		for (int i = 0; i < CMDS_PER_SLAB - 1; i++)
			slab->cmds[i].next = &slab->cmds[i + 1];
		cmd = slab->cmds;
	}
	q->idle = cmd->next;
	return cmd;
}

static cl_int check_waits(cl_command_queue q, cl_uint n, const cl_event *waits)
{
	if ((n == 0) != (waits == NULL))
		return CL_INVALID_EVENT_WAIT_LIST;
	for (cl_uint i = 0; i < n; i++) {
		if (!dcl_is(waits[i], DCL_EVENT))
			return CL_INVALID_EVENT_WAIT_LIST;
		if (waits[i]->context != q->context)
			return CL_INVALID_CONTEXT;
	}
	return CL_SUCCESS;
}

static int set_waits(struct dcl_cmd *cmd, cl_uint n, const cl_event *waits)
{
	cmd->waits = cmd->waits_inline;
	if (n > DCL_INLINE_WAITS) {
		cmd->waits = calloc(n, sizeof(*cmd->waits));
		if (!cmd->waits)
			return -1;
	}
	cmd->n_waits = n;
	for (cl_uint i = 0; i < n; i++) {
		dcl_object_pin(waits[i]);
		cmd->waits[i].event = waits[i];
	}
	return 0;
}

static cl_event event_new(cl_command_queue q, cl_command_type type)
{
	cl_event event = dcl_object_new(DCL_EVENT);

	if (!event)
		return NULL;
	dcl_object_pin(event); /* the command's reference */
	dcl_object_pin(q);
	dcl_object_pin(q->context);
	event->queue = q;
	event->context = q->context;
	event->type = type;
	atomic_store_explicit(&event->status, CL_QUEUED, memory_order_relaxed);
	event->profiled = q->props & CL_QUEUE_PROFILING_ENABLE;
	if (event->profiled)
		event->queued_ns = dcl_now_ns();
	return event;
}

struct dcl_cmd *dcl_cmd_begin(cl_command_queue q, cl_command_type type, cl_uint n_waits,
	const cl_event *waits, bool wants_event, cl_int *rc)
{
	struct dcl_cmd *cmd;

	if (!dcl_is(q, DCL_QUEUE))
		return dcl_fail(rc, CL_INVALID_COMMAND_QUEUE);
	if (!dcl_alive())
		return dcl_fail(rc, CL_OUT_OF_RESOURCES);
	if (n_waits || waits) {
		*rc = check_waits(q, n_waits, waits);
		if (*rc)
			return NULL;
	}
	if (type && dcl_knobs.fail_enqueue_nth) {
		*rc = dcl_fail_enqueue();
		if (*rc)
			return NULL;
	}

	pthread_mutex_lock(&q->lock);
	cmd = cmd_take(q);
	if (!cmd)
		goto no_memory;
	cmd->next = NULL;
	cmd->queue = q;
	cmd->event = NULL;
	cmd->type = type;
	cmd->op = DCL_OP_NONE;
	cmd->order = DCL_PLAIN;
	cmd->internal = type == 0;
	cmd->fail = 0;
	cmd->n_waits = cmd->n_mems = 0;
	cmd->mems = cmd->mems_inline;
	cmd->wake = NULL;
	cmd->group = NULL;
	cmd->followers = (struct dcl_links){0};
	if (n_waits && set_waits(cmd, n_waits, waits) < 0)
		goto cancel;
	if (wants_event) {
		cmd->event = event_new(q, type);
		if (!cmd->event)
			goto cancel;
	}
	return cmd;

cancel:
	dcl_cmd_cancel(cmd);
	return dcl_fail(rc, CL_OUT_OF_HOST_MEMORY);
no_memory:
	pthread_mutex_unlock(&q->lock);
	return dcl_fail(rc, CL_OUT_OF_HOST_MEMORY);
}

void dcl_cmd_use(struct dcl_cmd *cmd, cl_mem mem)
{
	uint32_t n = cmd->n_mems;

	if (n == DCL_INLINE_MEMS || (n > DCL_INLINE_MEMS && n % DCL_MEMS_STEP == 0)) {
		cl_mem *old = n == DCL_INLINE_MEMS ? NULL : cmd->mems;
		cl_mem *mems = realloc(
			old, (n - n % DCL_MEMS_STEP + DCL_MEMS_STEP) * sizeof(*mems));

		if (!mems)
			abort();
		if (!old)
			memcpy(mems, cmd->mems_inline, sizeof(cmd->mems_inline));
		cmd->mems = mems;
	}
	dcl_object_pin(mem);
	cmd->mems[cmd->n_mems++] = mem;
}

cl_int dcl_cmd_commit(struct dcl_cmd *cmd, cl_event *event)
{
	cl_command_queue q = cmd->queue;

	if (event)
		*event = cmd->event;
	if (q->pending)
		q->pending_tail->next = cmd;
	else
		q->pending = cmd;
	q->pending_tail = cmd;
	if (!cmd->internal)
		dcl_bump(&q->enqueued, 1);
	if (cmd->op == DCL_OP_KERNEL)
		dcl_bump(&q->kernels, 1);
	pthread_mutex_unlock(&q->lock);
	return CL_SUCCESS;
}

/* Simulates a driver that holds a queue's lock while it waits for the queue. */
static void loose_lock(cl_command_queue q)
{
	if (dcl_knobs.loose_finish)
		pthread_mutex_lock(&q->lock);
}

static void loose_unlock(cl_command_queue q)
{
	if (dcl_knobs.loose_finish)
		pthread_mutex_unlock(&q->lock);
}

cl_int dcl_cmd_commit_blocking(struct dcl_cmd *cmd, cl_event *event, cl_bool blocking)
{
	struct dcl_waiter waiter = {.left = 1};
	cl_command_queue q = cmd->queue;
	cl_int status;

	if (!blocking && !dcl_knobs.pageable_copies)
		return dcl_cmd_commit(cmd, event);
	cmd->wake = &waiter;
	loose_lock(q);
	dcl_cmd_commit(cmd, event);
	dcl_queue_flush(q);
	status = dcl_waiter_wait(&waiter);
	loose_unlock(q);
	return blocking && status < 0 ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
				      : CL_SUCCESS;
}

void dcl_cmd_drop_plain_mems(struct dcl_cmd *cmd)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < cmd->n_mems; i++) {
		cl_mem mem = cmd->mems[i];

		if (atomic_load_explicit(&mem->watched, memory_order_acquire))
			cmd->mems[kept++] = mem;
		else
			dcl_object_unpin(mem);
	}
	cmd->n_mems = kept;
}

void dcl_cmd_free_op(struct dcl_cmd *cmd)
{
	for (uint32_t i = 0; i < cmd->n_mems; i++)
		dcl_object_unpin(cmd->mems[i]);
	if (cmd->mems != cmd->mems_inline)
		free(cmd->mems);
	cmd->n_mems = 0;
	switch ((enum dcl_op)cmd->op) {
	case DCL_OP_NATIVE:
		free(cmd->u.native.args);
		break;
	case DCL_OP_SVM_FREE:
		free(cmd->u.svm_free.pointers);
		break;
	case DCL_OP_CMDBUF:
		atomic_fetch_sub(&cmd->u.cmdbuf->pending, 1);
		dcl_object_unpin(cmd->u.cmdbuf);
		break;
	default:
		break;
	}
}

static void drop_waits(struct dcl_cmd *cmd)
{
	for (uint32_t i = 0; i < cmd->n_waits; i++)
		dcl_object_unpin(cmd->waits[i].event);
	if (cmd->n_waits > DCL_INLINE_WAITS)
		free(cmd->waits);
	cmd->n_waits = 0;
}

void dcl_cmd_cancel(struct dcl_cmd *cmd)
{
	cl_command_queue q = cmd->queue;
	cl_event event = cmd->event;
	uint32_t n_waits = cmd->n_waits;
	struct dcl_wait *waits = cmd->waits, inline_waits[DCL_INLINE_WAITS];

	/* The command is returned first; its pins are dropped with no lock held. */
	memcpy(inline_waits, cmd->waits_inline, sizeof(inline_waits));
	if (waits == cmd->waits_inline)
		waits = inline_waits;
	cmd->n_waits = 0;
	cmd->next = q->idle;
	q->idle = cmd;
	pthread_mutex_unlock(&q->lock);

	for (uint32_t i = 0; i < n_waits; i++)
		dcl_object_unpin(waits[i].event);
	if (n_waits && waits != inline_waits)
		free(waits);
	if (event) {
		dcl_object_unpin(event);
		dcl_object_release(event, DCL_EVENT);
	}
}

void dcl_cmd_retire(struct dcl_cmd *cmd)
{
	cl_command_queue q = cmd->queue;
	cl_event event = cmd->event;
	struct dcl_cmd *top;

	drop_waits(cmd);
	dcl_cmd_free_op(cmd);
	top = atomic_load_explicit(&q->returned, memory_order_relaxed);
	do {
		cmd->next = top;
	} while (!atomic_compare_exchange_weak_explicit(
		&q->returned, &top, cmd, memory_order_release, memory_order_relaxed));
	if (event)
		dcl_object_unpin(event);
	dcl_object_unpin(q);
}

void dcl_queue_flush(cl_command_queue q)
{
	struct dcl_after after = {0};
	struct dcl_cmd *chain;
	uint32_t n = 0;

	pthread_mutex_lock(&q->lock);
	chain = q->pending;
	q->pending = q->pending_tail = NULL;
	if (!chain) {
		pthread_mutex_unlock(&q->lock);
		return;
	}
	dcl_bump(&q->flushes, 1);
	for (const struct dcl_cmd *c = chain; c; c = c->next)
		n++;
	dcl_sched_lock();
	/* The queue's lock is held until the scheduler knows the order of this flush. */
	dcl_sched_submit(q, chain, n, &after);
	pthread_mutex_unlock(&q->lock);
	dcl_sched_unlock(&after);
}

static void finish(cl_command_queue q)
{
	struct dcl_waiter waiter = {.left = 1};
	cl_int rc;
	struct dcl_cmd *cmd = dcl_cmd_begin(q, 0, 0, NULL, false, &rc);

	if (!cmd)
		return;
	cmd->order = DCL_MARKER;
	cmd->wake = &waiter;
	dcl_cmd_commit(cmd, NULL);
	dcl_queue_flush(q);
	dcl_waiter_wait(&waiter);
}

void dcl_queue_finish(cl_command_queue q)
{
	loose_lock(q);
	if (!dcl_knobs.loose_finish || q->pending)
		finish(q);
	loose_unlock(q);
}
