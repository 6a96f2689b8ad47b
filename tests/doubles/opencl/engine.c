/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"
#include "cmd.h"
#include "ledger.h"
#include "object.h"
#include "schedule.h"
#include "svm.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

/* The engine of a device: one command at a time, for the command's duration. A kernel
 * computes nothing; copies and fills move real bytes. Long kernels sleep for most of
 * their time, so that tests of several devices fit on a small machine. */

#define SLEEP_FROM_NS 200000U
/* The last part of a kernel is spun, so that its end is exact in spite of timer slack. */
#define SPIN_TAIL_NS 100000U

struct dcl_engine dcl_engines[DCL_MAX_DEVICES];

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void hold_device(uint64_t ns)
{
	uint64_t now = dcl_now_ns(), end = now + ns;

	if (ns >= SLEEP_FROM_NS) {
		uint64_t sleep_ns = ns - SPIN_TAIL_NS;
		struct timespec ts = {
			.tv_sec = (time_t)(sleep_ns / 1000000000U),
			.tv_nsec = (long)(sleep_ns % 1000000000U),
		};

		nanosleep(&ts, NULL);
	}
	while (dcl_now_ns() < end)
		relax();
}

static void run_kernel(struct dcl_engine *engine, uint64_t ns)
{
	uint64_t start;

	if (ns == 0)
		return;
	start = dcl_now_ns();
	hold_device(ns);
	dcl_bump(&engine->busy_ns, dcl_now_ns() - start);
}

static void run_rect(const struct dcl_rect *r)
{
	for (size_t z = 0; z < r->region[2]; z++)
		for (size_t y = 0; y < r->region[1]; y++)
			memmove(r->dst + z * r->dst_slice + y * r->dst_row,
				r->src + z * r->src_slice + y * r->src_row, r->region[0]);
}

static void run_fill(const struct dcl_fill *f)
{
	for (size_t z = 0; z < f->region[2]; z++)
		for (size_t y = 0; y < f->region[1]; y++) {
			uint8_t *row = f->dst + z * f->slice + y * f->row;

			for (size_t x = 0; x < f->region[0]; x += f->pattern_bytes)
				memcpy(row + x, f->pattern, f->pattern_bytes);
		}
}

static void run_svm_free(const struct dcl_cmd *cmd)
{
	const struct dcl_svm_free *f = &cmd->u.svm_free;

	if (f->fn) {
		f->fn(cmd->queue, f->n, f->pointers, f->user);
		return;
	}
	for (cl_uint i = 0; i < f->n; i++)
		dcl_svm_release(cmd->queue->context, f->pointers[i]);
}

static void run_op(struct dcl_engine *engine, const struct dcl_cmd *cmd)
{
	switch ((enum dcl_op)cmd->op) {
	case DCL_OP_NONE:
		break;
	case DCL_OP_KERNEL:
		run_kernel(engine, cmd->kernel_ns);
		break;
	case DCL_OP_RECT:
		run_rect(&cmd->u.rect);
		break;
	case DCL_OP_FILL:
		run_fill(&cmd->u.fill);
		break;
	case DCL_OP_NATIVE:
		cmd->u.native.fn(cmd->u.native.args);
		break;
	case DCL_OP_SVM_FREE:
		run_svm_free(cmd);
		break;
	case DCL_OP_CMDBUF:
		for (const struct dcl_cmd *s = cmd->u.cmdbuf->steps; s; s = s->next)
			run_op(engine, s);
		break;
	}
}

static void run(struct dcl_engine *engine, struct dcl_cmd *cmd)
{
	cl_event event = cmd->event;

	dcl_ledger_device_take(engine->ledger);
	if (event) {
		struct dcl_after after = {0};

		if (event->profiled)
			event->start_ns = dcl_now_ns();
		dcl_sched_lock();
		dcl_sched_event_status(event, CL_RUNNING, &after);
		dcl_sched_unlock(&after);
	}
	run_op(engine, cmd);
	if (event && event->profiled)
		event->end_ns = dcl_now_ns();
	dcl_ledger_device_give(engine->ledger);
	dcl_cmd_drop_plain_mems(cmd);
}

static void *engine_main(void *arg)
{
	struct dcl_engine *engine = arg;
	struct dcl_after after;
	struct dcl_cmd *cmd;

	prctl(PR_SET_NAME, "double-engine");
	prctl(PR_SET_TIMERSLACK, 1);
	atomic_store(&engine->thread, pthread_self());
	dcl_sched_lock();
	cmd = dcl_sched_await(engine);
	after = (struct dcl_after){0};
	dcl_sched_unlock(&after);
	for (;;) {
		struct dcl_cmd *next;

		run(engine, cmd);
		after = (struct dcl_after){0};
		dcl_sched_lock();
		dcl_sched_complete(cmd, CL_COMPLETE, &after);
		next = dcl_sched_next(engine);
		dcl_sched_unlock(&after);
		if (!next) {
			after = (struct dcl_after){0};
			dcl_sched_lock();
			next = dcl_sched_await(engine);
			dcl_sched_unlock(&after);
		}
		cmd = next;
	}
	return NULL;
}

/* Not a thread-local variable, which a library loaded late has to allocate. */
bool dcl_engine_is_this_thread(void)
{
	for (unsigned i = 0; i < DCL_MAX_DEVICES; i++)
		if (atomic_load(&dcl_engines[i].thread) == pthread_self())
			return true;
	return false;
}

void dcl_thread_start(void *(*main)(void *), void *arg)
{
	sigset_t all, old;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, NULL, main, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r != 0) {
		fprintf(stderr, "cleave-double-opencl: no thread: %s\n", strerror(r));
		abort();
	}
	pthread_detach(thread);
}

void dcl_engine_start(struct dcl_engine *engine)
{
	if (engine->started)
		return;
	engine->started = true;
	dcl_thread_start(engine_main, engine);
}

void dcl_engines_init(void)
{
	for (unsigned i = 0; i < DCL_MAX_DEVICES; i++) {
		dcl_engines[i].index = i;
		pthread_cond_init(&dcl_engines[i].wake, NULL);
		dcl_engines[i].ledger = dcl_ledger_open(i);
	}
}
