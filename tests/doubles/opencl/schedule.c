/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule.h"
#include "callback.h"
#include "engine.h"
#include "knobs.h"
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Dependencies between commands. They are added when a queue is flushed and removed when
 * commands complete. Markers and barriers use no device time: they complete as soon as
 * their dependencies have, on the thread that completed the last one. No command runs
 * here. */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dcl_cmd *settled, *settled_tail; /* to complete without the device */
static struct dcl_group *idle_groups;

uint64_t dcl_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

cl_int dcl_waiter_wait(struct dcl_waiter *waiter)
{
	uint32_t left;

	while ((left = atomic_load(&waiter->left)) != 0)
		syscall(SYS_futex, &waiter->left, FUTEX_WAIT_PRIVATE, left, NULL, NULL,
			0);
	return atomic_load(&waiter->status);
}

static void waiter_done(struct dcl_link *link, cl_int status, struct dcl_after *after)
{
	if (status < 0)
		atomic_store(&link->waiter->status, status);
	link->next = after->wakes;
	after->wakes = link;
}

static void wake_all(struct dcl_link *link)
{
	struct dcl_link *next;

	for (; link; link = next) {
		_Atomic uint32_t *left = &link->waiter->left;

		/* The last decrement releases the waiter, which owns the link: from there
		 * on only the address is used. */
		next = link->next;
		if (atomic_fetch_sub(left, 1) == 1)
			futex_wake(left);
	}
}

static void links_add(struct dcl_links *links, struct dcl_link *link)
{
	link->next = NULL;
	if (links->tail)
		links->tail->next = link;
	else
		links->head = link;
	links->tail = link;
}

static void make_ready(struct dcl_cmd *cmd, struct dcl_after *after)
{
	struct dcl_engine *engine = cmd->queue->device->engine;

	cmd->next = NULL;
	if (cmd->op == DCL_OP_NONE || cmd->fail) {
		if (settled_tail)
			settled_tail->next = cmd;
		else
			settled = cmd;
		settled_tail = cmd;
		return;
	}
	if (!engine->ready) {
		engine->ready = engine->ready_tail = cmd;
	} else if (dcl_knobs.ooo_reverse &&
		   (cmd->queue->props & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)) {
		cmd->next = engine->ready;
		engine->ready = cmd;
	} else {
		engine->ready_tail->next = cmd;
		engine->ready_tail = cmd;
	}
	after->wake_engines |= 1U << engine->index;
}

static void dependency_gone(struct dcl_cmd *cmd, struct dcl_after *after)
{
	if (--cmd->deps == 0)
		make_ready(cmd, after);
}

static void links_fire(struct dcl_links *links, cl_int status, struct dcl_after *after)
{
	struct dcl_link *link = links->head, *next;

	links->head = links->tail = NULL;
	for (; link; link = next) {
		next = link->next;
		if (link->waiter) {
			waiter_done(link, status, after);
			continue;
		}
		if (status < 0 && link->from_event)
			link->cmd->fail = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
		dependency_gone(link->cmd, after);
	}
}

void dcl_sched_event_status(cl_event event, cl_int status, struct dcl_after *after)
{
	struct dcl_callback **at = &event->callbacks, *cb;

	atomic_store_explicit(&event->status, status, memory_order_release);
	while ((cb = *at)) {
		if (status > cb->status) {
			at = &cb->next;
			continue;
		}
		*at = cb->next;
		if (status < 0)
			cb->status = status;
		dcl_callback_post(cb);
	}
	if (status <= CL_COMPLETE)
		links_fire(&event->followers, status, after);
}

bool dcl_sched_wait_event(
	cl_event event, struct dcl_link *link, struct dcl_waiter *waiter)
{
	int32_t status = atomic_load_explicit(&event->status, memory_order_acquire);

	if (status <= CL_COMPLETE) {
		if (status < 0)
			atomic_store(&waiter->status, status);
		return false;
	}
	*link = (struct dcl_link){.waiter = waiter, .from_event = true};
	atomic_fetch_add(&waiter->left, 1);
	links_add(&event->followers, link);
	return true;
}

static struct dcl_group *group_new(void)
{
	struct dcl_group *group = idle_groups;

	if (group) {
		idle_groups = group->next;
		*group = (struct dcl_group){0};
		return group;
	}
	group = calloc(1, sizeof(*group));
	if (!group)
		abort();
	return group;
}

static void groups_settle(cl_command_queue q, struct dcl_after *after)
{
	struct dcl_group *group;

	while ((group = q->group) && group->left == 0) {
		struct dcl_cmd *closer = group->closer;

		if (!closer && group->next)
			abort();
		q->group = group->next;
		if (!q->group)
			q->group_tail = NULL;
		group->next = idle_groups;
		idle_groups = group;
		if (closer)
			dependency_gone(closer, after);
	}
}

static void follow(struct dcl_cmd *cmd, struct dcl_cmd *before)
{
	cmd->order_link = (struct dcl_link){.cmd = cmd};
	links_add(&before->followers, &cmd->order_link);
	cmd->deps++;
}

/* A marker or barrier with no wait list closes the group of what came before it; it is
 * itself part of the next group, so that later ones wait for it too. */
static void order_out_of_order(cl_command_queue q, struct dcl_cmd *cmd)
{
	if (q->barrier)
		follow(cmd, q->barrier);
	if (cmd->order != DCL_PLAIN && cmd->n_waits == 0 && q->group) {
		q->group_tail->closer = cmd;
		q->group_tail->next = group_new();
		q->group_tail = q->group_tail->next;
		cmd->deps++;
	} else if (!q->group) {
		q->group = q->group_tail = group_new();
	}
	cmd->group = q->group_tail;
	cmd->group->left++;
	if (cmd->order == DCL_BARRIER)
		q->barrier = cmd;
}

static void order_in_order(cl_command_queue q, struct dcl_cmd *cmd)
{
	if (q->last)
		follow(cmd, q->last);
	q->last = cmd;
}

static void wait_for_list(struct dcl_cmd *cmd)
{
	for (uint32_t i = 0; i < cmd->n_waits; i++) {
		struct dcl_wait *wait = &cmd->waits[i];
		int32_t status = atomic_load(&wait->event->status);

		if (status < 0) {
			cmd->fail = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
		} else if (status > CL_COMPLETE) {
			wait->link = (struct dcl_link){.cmd = cmd, .from_event = true};
			links_add(&wait->event->followers, &wait->link);
			cmd->deps++;
		}
	}
}

static void complete_one(struct dcl_cmd *cmd, cl_int status, struct dcl_after *after)
{
	cl_command_queue q = cmd->queue;

	if (q->last == cmd)
		q->last = NULL;
	if (q->barrier == cmd)
		q->barrier = NULL;
	if (cmd->event) {
		if (cmd->event->profiled && !cmd->event->end_ns) {
			cmd->event->start_ns = cmd->event->end_ns = dcl_now_ns();
		}
		dcl_sched_event_status(cmd->event, status, after);
	}
	links_fire(&cmd->followers, status, after);
	if (cmd->group && --cmd->group->left == 0)
		groups_settle(q, after);
	if (!cmd->internal)
		dcl_bump(&q->completed, 1);
	if (cmd->wake) {
		cmd->wake->own.waiter = cmd->wake;
		waiter_done(&cmd->wake->own, status, after);
	}

	cmd->next = NULL;
	if (after->retired_tail)
		after->retired_tail->next = cmd;
	else
		after->retired = cmd;
	after->retired_tail = cmd;
}

void dcl_sched_settle(struct dcl_after *after)
{
	struct dcl_cmd *cmd;

	while ((cmd = settled)) {
		settled = cmd->next;
		if (!settled)
			settled_tail = NULL;
		complete_one(cmd, cmd->fail ? cmd->fail : CL_COMPLETE, after);
	}
}

void dcl_sched_complete(struct dcl_cmd *cmd, cl_int status, struct dcl_after *after)
{
	complete_one(cmd, status, after);
	dcl_sched_settle(after);
}

void dcl_sched_submit(cl_command_queue queue, struct dcl_cmd *chain, uint32_t n,
	struct dcl_after *after)
{
	bool in_order = !(queue->props & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	struct dcl_cmd *cmd, *next;

	/* One pin a command; all are taken at once, because an enqueue must be cheap. */
	atomic_fetch_add(&queue->obj.pins, (int32_t)n);
	for (cmd = chain; cmd; cmd = next) {
		next = cmd->next;
		cmd->deps = 1;
		if (cmd->event) {
			if (cmd->event->profiled)
				cmd->event->submit_ns = dcl_now_ns();
			dcl_sched_event_status(cmd->event, CL_SUBMITTED, after);
		}
		wait_for_list(cmd);
		if (in_order)
			order_in_order(queue, cmd);
		else
			order_out_of_order(queue, cmd);
		dependency_gone(cmd, after);
	}
	dcl_sched_settle(after);
}

struct dcl_cmd *dcl_sched_next(struct dcl_engine *engine)
{
	struct dcl_cmd *cmd = engine->ready;

	if (!cmd)
		return NULL;
	engine->ready = cmd->next;
	if (!engine->ready)
		engine->ready_tail = NULL;
	cmd->next = NULL;
	return cmd;
}

struct dcl_cmd *dcl_sched_await(struct dcl_engine *engine)
{
	while (!engine->ready)
		pthread_cond_wait(&engine->wake, &lock);
	return dcl_sched_next(engine);
}

void dcl_sched_lock(void)
{
	pthread_mutex_lock(&lock);
}

void dcl_sched_unlock(struct dcl_after *after)
{
	struct dcl_cmd *cmd, *next;

	for (uint32_t left = after->wake_engines; left; left &= left - 1)
		dcl_engine_start(&dcl_engines[__builtin_ctz(left)]);
	pthread_mutex_unlock(&lock);

	for (uint32_t left = after->wake_engines; left; left &= left - 1)
		pthread_cond_signal(&dcl_engines[__builtin_ctz(left)].wake);
	for (cmd = after->retired; cmd; cmd = next) {
		next = cmd->next;
		dcl_cmd_retire(cmd);
	}
	wake_all(after->wakes);
}
