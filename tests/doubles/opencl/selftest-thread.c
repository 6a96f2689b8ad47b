/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <pthread.h>
#include <stdatomic.h>

/* Tests with many threads, for the thread sanitizer. */

#define N_THREADS 4
#define N_EACH 1500

struct worker {
	const struct rig *rig;
	cl_command_queue shared;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	cl_command_queue own = rig_queue(w->rig, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	size_t one = 1;

	for (int i = 0; i < N_EACH; i++) {
		cl_event event, second;

		OK(clEnqueueNDRangeKernel(
			w->shared, w->rig->nop, 1, NULL, &one, NULL, 0, NULL, &event));
		OK(clEnqueueNDRangeKernel(
			own, w->rig->nop, 1, NULL, &one, NULL, 1, &event, &second));
		OK(clReleaseEvent(event));
		if (i % 64 == 0) {
			OK(clFlush(w->shared));
			OK(clWaitForEvents(1, &second));
		}
		OK(clReleaseEvent(second));
	}
	OK(clFlush(w->shared));
	OK(clFinish(own));
	OK(clReleaseCommandQueue(own));
	return NULL;
}

static void threads_share_a_queue(void)
{
	struct cleave_double_stats stats;
	struct worker workers[N_THREADS];
	cl_command_queue q;
	struct rig rig;

	rig_init(&rig);
	q = rig_keep_queue(&rig, 0);
	for (int i = 0; i < N_THREADS; i++) {
		workers[i] = (struct worker){.rig = &rig, .shared = q};
		CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
	}
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	OK(clFinish(q));
	stats_now(&rig, &stats);
	CHECK(stats.kernels == 2 * N_THREADS * N_EACH && stats.never_run == 0);
	rig_done(&rig);
}

#define N_CHURN 250

struct churn {
	const struct rig *rig;
	cl_command_queue q;
	pthread_t thread;
	unsigned seed;
};

static _Atomic int destroyed, called;

static void CL_CALLBACK count_destroyed(cl_mem mem, void *user)
{
	atomic_fetch_add(&destroyed, 1);
}

static void CL_CALLBACK count_called(cl_event event, cl_int status, void *user)
{
	atomic_fetch_add(&called, 1);
}

/* Creates, uses and releases everything at once; another thread's flush may be the one
 * that submits it, and the engine the one that destroys it. */
static void *churn(void *arg)
{
	struct churn *c = arg;
	size_t one = 1;
	cl_int rc;

	for (int i = 0; i < N_CHURN; i++) {
		cl_event user = clCreateUserEvent(c->rig->context, &rc), done;
		cl_kernel kernel = clCreateKernel(c->rig->program, "other", &rc);
		cl_mem mem = clCreateBuffer(c->rig->context, 0, 4096, NULL, &rc);

		OK(rc);
		OK(clSetMemObjectDestructorCallback(mem, count_destroyed, NULL));
		OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
		OK(clEnqueueNDRangeKernel(
			c->q, kernel, 1, NULL, &one, NULL, 1, &user, &done));
		OK(clSetEventCallback(done, CL_COMPLETE, count_called, NULL));
		OK(clReleaseMemObject(mem));
		OK(clReleaseKernel(kernel));
		if (rand_r(&c->seed) % 2)
			OK(clFlush(c->q));
		if (rand_r(&c->seed) % 4 == 0)
			OK(clEnqueueBarrierWithWaitList(c->q, 0, NULL, NULL));
		OK(clSetUserEventStatus(user, rand_r(&c->seed) % 8 ? CL_COMPLETE : -9));
		OK(clReleaseEvent(user));
		OK(clReleaseEvent(done));
	}
	return NULL;
}

static void threads_make_and_drop_everything(void)
{
	struct cleave_double_stats stats;
	struct churn churns[N_THREADS];
	cl_command_queue q;
	struct rig rig;

	rig_init(&rig);
	q = rig_queue(&rig, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	for (unsigned i = 0; i < N_THREADS; i++) {
		churns[i] = (struct churn){.rig = &rig, .q = q, .seed = i};
		CHECK(pthread_create(&churns[i].thread, NULL, churn, &churns[i]) == 0);
	}
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(churns[i].thread, NULL);
	OK(clFinish(q));
	while (atomic_load(&destroyed) < N_THREADS * N_CHURN ||
		atomic_load(&called) < N_THREADS * N_CHURN)
		nap_ms(1);
	OK(clReleaseCommandQueue(q));
	/* The last callbacks are still being destroyed. */
	do {
		nap_ms(1);
		stats_now(&rig, &stats);
	} while (stats.live_bytes || stats.live_events || stats.live_mem_objects);
	CHECK(stats.live_kernels == 2 && stats.live_queues == 0 && stats.never_run == 0);
	rig_done(&rig);
}

/* clang-format off */
#define CASE(name_, ...) { .name = #name_, .run = name_, __VA_ARGS__ }
const struct selftest_case selftest_thread[] = {
	CASE(threads_share_a_queue),
	CASE(threads_make_and_drop_everything),
	{ 0 },
};
/* clang-format on */
