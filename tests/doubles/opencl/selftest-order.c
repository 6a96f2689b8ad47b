/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <pthread.h>

/* Flushing, queues, dependencies: what may run when. */

static void nothing_runs_before_a_flush(void)
{
	struct cleave_double_stats stats;
	cl_command_queue q;
	struct rig rig;
	cl_event event;

	rig_init(&rig);
	q = rig_keep_queue(&rig, 0);
	event = rig_run(&rig, q, 0, NULL);
	nap_ms(NAP_MS);
	CHECK(status_of(event) == CL_QUEUED);
	stats_now(&rig, &stats);
	CHECK(stats.enqueues == 1 && stats.completed == 0 && stats.flushes == 0);
	OK(clFlush(q));
	OK(clWaitForEvents(1, &event));
	CHECK(status_of(event) == CL_COMPLETE);
	OK(clReleaseEvent(event));

	event = rig_run(&rig, q, 0, NULL);
	OK(clFinish(q));
	CHECK(status_of(event) == CL_COMPLETE);
	OK(clReleaseEvent(event));
	stats_now(&rig, &stats);
	CHECK(stats.enqueues == 2 && stats.completed == 2 && stats.flushes == 2);
	rig_done(&rig);
}

static void another_queue_waits_for_the_flush(void)
{
	cl_command_queue a, b;
	cl_event first, second;
	struct rig rig;

	rig_init(&rig);
	a = rig_keep_queue(&rig, 0);
	b = rig_keep_queue(&rig, 0);
	first = rig_keep_run(&rig, a, 0, NULL);
	second = rig_keep_run(&rig, b, 0, first);
	OK(clFlush(b));
	nap_ms(NAP_MS);
	CHECK(status_of(first) == CL_QUEUED);
	CHECK(status_of(second) == CL_SUBMITTED);
	OK(clFlush(a));
	OK(clWaitForEvents(1, &second));
	CHECK(status_of(first) == CL_COMPLETE);
	rig_done(&rig);
}

static void *wait_for(void *event)
{
	cl_event e = event;

	OK(clWaitForEvents(1, &e));
	return NULL;
}

static void a_wait_flushes_its_own_queue_only(void)
{
	cl_command_queue a, b;
	cl_event first, second;
	pthread_t waiter;
	struct rig rig;

	rig_init(&rig);
	a = rig_keep_queue(&rig, 0);
	b = rig_keep_queue(&rig, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	first = rig_keep_run(&rig, a, 0, NULL);
	second = rig_keep_run(&rig, b, 0, first);
	CHECK(pthread_create(&waiter, NULL, wait_for, second) == 0);
	/* The thread may wait for a processor first. */
	for (int i = 0; i < 6000 && status_of(second) == CL_QUEUED; i++)
		nap_ms(10);
	nap_ms(NAP_MS);
	CHECK(status_of(first) == CL_QUEUED);
	CHECK(status_of(second) == CL_SUBMITTED);
	OK(clFlush(a));
	pthread_join(waiter, NULL);
	CHECK(status_of(second) == CL_COMPLETE);
	rig_done(&rig);
}

static void a_blocking_call_flushes_its_own_queue(void)
{
	cl_command_queue a, b;
	cl_event first, other;
	struct rig rig;
	char byte = 0;
	cl_int rc;
	cl_mem mem;

	rig_init(&rig);
	a = rig_keep_queue(&rig, 0);
	b = rig_keep_queue(&rig, 0);
	mem = clCreateBuffer(rig.context, CL_MEM_READ_WRITE, 16, NULL, &rc);
	OK(rc);
	first = rig_keep_run(&rig, a, 0, NULL);
	other = rig_keep_run(&rig, b, 0, NULL);
	OK(clEnqueueReadBuffer(a, mem, CL_TRUE, 0, 1, &byte, 0, NULL, NULL));
	CHECK(status_of(first) == CL_COMPLETE);
	CHECK(status_of(other) == CL_QUEUED);
	OK(clReleaseMemObject(mem));
	rig_done(&rig);
}

static void the_last_release_flushes(void)
{
	cl_command_queue q;
	struct rig rig;
	cl_event event;

	rig_init(&rig);
	q = rig_queue(&rig, 0);
	OK(clRetainCommandQueue(q));
	event = rig_keep_run(&rig, q, 0, NULL);
	OK(clReleaseCommandQueue(q));
	nap_ms(NAP_MS);
	CHECK(status_of(event) == CL_QUEUED);
	OK(clReleaseCommandQueue(q));
	OK(clWaitForEvents(1, &event));
	rig_done(&rig);
}

static void a_user_event_blocks_what_is_behind(void)
{
	cl_command_queue q, free_q;
	cl_event user, first, second, other;
	struct rig rig;

	rig_init(&rig);
	q = rig_keep_queue(&rig, 0);
	free_q = rig_keep_queue(&rig, 0);
	user = rig_keep_user_event(&rig);
	first = rig_keep_run(&rig, q, 0, user);
	second = rig_keep_run(&rig, q, 0, NULL);
	other = rig_keep_run(&rig, free_q, 0, NULL);
	OK(clFlush(q));
	OK(clFinish(free_q));
	CHECK(status_of(other) == CL_COMPLETE);
	nap_ms(NAP_MS);
	CHECK(status_of(first) == CL_SUBMITTED);
	CHECK(status_of(second) == CL_SUBMITTED);
	CHECK_CL(CL_INVALID_VALUE, clSetUserEventStatus(user, 1));
	OK(clSetUserEventStatus(user, CL_COMPLETE));
	CHECK_CL(CL_INVALID_OPERATION, clSetUserEventStatus(user, CL_COMPLETE));
	OK(clFinish(q));
	CHECK(status_of(second) == CL_COMPLETE);
	rig_done(&rig);
}

static void a_failed_user_event_ends_what_waits(void)
{
	cl_event user, first, behind, chained;
	cl_command_queue q, q2;
	struct rig rig;

	rig_init(&rig);
	q = rig_keep_queue(&rig, 0);
	q2 = rig_keep_queue(&rig, 0);
	user = rig_keep_user_event(&rig);
	first = rig_keep_run(&rig, q, 0, user);
	behind = rig_keep_run(&rig, q, 0, NULL);
	chained = rig_keep_run(&rig, q2, 0, first);
	OK(clFlush(q));
	OK(clFlush(q2));
	OK(clSetUserEventStatus(user, -5));
	CHECK(status_of(user) == -5);
	CHECK_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
		clWaitForEvents(1, &chained));
	CHECK(status_of(first) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
	CHECK(status_of(chained) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
	OK(clWaitForEvents(1, &behind));
	rig_done(&rig);
}

static void out_of_order_waits_for_barriers_only(void)
{
	cl_event user, blocked, free_one, all, listed, barrier, after;
	cl_command_queue q;
	struct rig rig;

	rig_init(&rig);
	q = rig_keep_queue(&rig, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	user = rig_keep_user_event(&rig);
	blocked = rig_keep_run(&rig, q, 0, user);
	free_one = rig_keep_run(&rig, q, 0, NULL);
	OK(clEnqueueMarkerWithWaitList(q, 0, NULL, &all));
	rig_keep(&rig, all);
	OK(clEnqueueMarkerWithWaitList(q, 1, &free_one, &listed));
	rig_keep(&rig, listed);
	OK(clWaitForEvents(1, &listed));
	CHECK(status_of(free_one) == CL_COMPLETE);
	OK(clEnqueueBarrierWithWaitList(q, 0, NULL, &barrier));
	rig_keep(&rig, barrier);
	after = rig_keep_run(&rig, q, 0, NULL);
	OK(clFlush(q));
	nap_ms(NAP_MS);
	CHECK(status_of(all) == CL_SUBMITTED);
	CHECK(status_of(barrier) == CL_SUBMITTED);
	CHECK(status_of(after) == CL_SUBMITTED);
	OK(clSetUserEventStatus(user, CL_COMPLETE));
	OK(clWaitForEvents(1, &after));
	CHECK(status_of(blocked) == CL_COMPLETE && status_of(all) == CL_COMPLETE);
	rig_done(&rig);
}

static void a_barrier_with_a_list_holds_later_ones(void)
{
	cl_event user, before, barrier, after;
	cl_command_queue q;
	struct rig rig;

	rig_init(&rig);
	q = rig_keep_queue(&rig, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	user = rig_keep_user_event(&rig);
	before = rig_keep_run(&rig, q, 0, NULL);
	OK(clEnqueueBarrierWithWaitList(q, 1, &user, &barrier));
	rig_keep(&rig, barrier);
	after = rig_keep_run(&rig, q, 0, NULL);
	OK(clWaitForEvents(1, &before));
	nap_ms(NAP_MS);
	CHECK(status_of(barrier) == CL_SUBMITTED && status_of(after) == CL_SUBMITTED);
	OK(clSetUserEventStatus(user, CL_COMPLETE));
	OK(clFinish(q));
	CHECK(status_of(after) == CL_COMPLETE);
	rig_done(&rig);
}

static void in_order_markers_wait_their_turn(void)
{
	cl_event user, first, marker;
	cl_command_queue q;
	struct rig rig;

	rig_init(&rig);
	q = rig_keep_queue(&rig, 0);
	user = rig_keep_user_event(&rig);
	first = rig_keep_run(&rig, q, 0, user);
	OK(clEnqueueMarkerWithWaitList(q, 0, NULL, &marker));
	rig_keep(&rig, marker);
	OK(clFlush(q));
	nap_ms(NAP_MS);
	CHECK(status_of(marker) == CL_SUBMITTED);
	OK(clSetUserEventStatus(user, CL_COMPLETE));
	OK(clWaitForEvents(1, &marker));
	CHECK(status_of(first) == CL_COMPLETE);
	rig_done(&rig);
}

#define N_SPINS 12

static void the_device_runs_one_kernel_at_a_time(void)
{
	cl_command_queue q[2];
	cl_event events[2 * N_SPINS];
	struct rig rig;

	rig_init(&rig);
	q[0] = rig_queue(&rig, CL_QUEUE_PROFILING_ENABLE);
	q[1] = rig_queue(
		&rig, CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	for (int i = 0; i < 2 * N_SPINS; i++)
		events[i] = rig_run(&rig, q[i % 2], 500, NULL);
	OK(clFlush(q[0]));
	OK(clFlush(q[1]));
	OK(clWaitForEvents(2 * N_SPINS, events));
	for (int i = 0; i < 2 * N_SPINS; i++)
		for (int k = 0; k < i; k++) {
			cl_ulong start_i =
				profiled(events[i], CL_PROFILING_COMMAND_START);
			cl_ulong start_k =
				profiled(events[k], CL_PROFILING_COMMAND_START);
			cl_ulong end_i = profiled(events[i], CL_PROFILING_COMMAND_END);
			cl_ulong end_k = profiled(events[k], CL_PROFILING_COMMAND_END);

			CHECK(end_i <= start_k || end_k <= start_i);
		}
	for (int i = 0; i < 2 * N_SPINS; i++)
		OK(clReleaseEvent(events[i]));
	OK(clReleaseCommandQueue(q[0]));
	OK(clReleaseCommandQueue(q[1]));
	rig_done(&rig);
}

#define N_GRAPH 600

/* A random graph over three queues: every edge must be kept, all must complete. */
static void a_random_graph_keeps_every_edge(void)
{
	static cl_event events[N_GRAPH];
	static int waits[N_GRAPH][2];
	cl_command_queue q[3];
	unsigned seed = 12345;
	struct rig rig;

	rig_init(&rig);
	for (int i = 0; i < 3; i++)
		q[i] = rig_queue(
			&rig, CL_QUEUE_PROFILING_ENABLE |
				      (i ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0));
	for (int i = 0; i < N_GRAPH; i++) {
		size_t one = 1;
		cl_event list[2];
		cl_uint n = i ? (cl_uint)(rand_r(&seed) % 3) : 0;

		for (cl_uint k = 0; k < 2; k++) {
			waits[i][k] = k < n ? rand_r(&seed) % i : -1;
			if (k < n)
				list[k] = events[waits[i][k]];
		}
		OK(clEnqueueNDRangeKernel(q[rand_r(&seed) % 3], rig.nop, 1, NULL, &one,
			NULL, n, n ? list : NULL, &events[i]));
		if (rand_r(&seed) % 50 == 0)
			OK(clEnqueueBarrierWithWaitList(
				q[rand_r(&seed) % 3], 0, NULL, NULL));
		if (rand_r(&seed) % 20 == 0)
			OK(clFlush(q[rand_r(&seed) % 3]));
	}
	for (int i = 0; i < 3; i++)
		OK(clFlush(q[i]));
	OK(clWaitForEvents(N_GRAPH, events));
	for (int i = 0; i < N_GRAPH; i++)
		for (int k = 0; k < 2; k++)
			if (waits[i][k] >= 0)
				CHECK(profiled(events[waits[i][k]],
					      CL_PROFILING_COMMAND_END) <=
					profiled(events[i], CL_PROFILING_COMMAND_START));
	for (int i = 0; i < N_GRAPH; i++)
		OK(clReleaseEvent(events[i]));
	for (int i = 0; i < 3; i++)
		OK(clReleaseCommandQueue(q[i]));
	rig_done(&rig);
}

/* clang-format off */
#define CASE(name_, ...) { .name = #name_, .run = name_, __VA_ARGS__ }
const struct selftest_case selftest_order[] = {
	CASE(nothing_runs_before_a_flush),
	CASE(another_queue_waits_for_the_flush),
	CASE(a_wait_flushes_its_own_queue_only),
	CASE(a_blocking_call_flushes_its_own_queue),
	CASE(the_last_release_flushes),
	CASE(a_user_event_blocks_what_is_behind),
	CASE(a_failed_user_event_ends_what_waits),
	CASE(out_of_order_waits_for_barriers_only),
	CASE(a_barrier_with_a_list_holds_later_ones),
	CASE(in_order_markers_wait_their_turn),
	CASE(the_device_runs_one_kernel_at_a_time),
	CASE(a_random_graph_keeps_every_edge),
	{ .name = "a_random_graph_run_in_reverse", .run = a_random_graph_keeps_every_edge,
	  .env = { "CLEAVE_DOUBLE_OOO=reverse" } },
	{ 0 },
};
/* clang-format on */
