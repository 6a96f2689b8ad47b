/* SPDX-License-Identifier: Apache-2.0 */
/* Computing threads, and the test in the part of the agent that stops them. */
#include "arbiter/attach.h"
#include "arbiter/threads/threads.h"
#include "base/clock.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_NS (60 * CLV_NS_PER_S)

/* What a thread that is mostly idle does: enough to be noticed, and an eighth of the time
 * only if the machine takes its processor away for far longer than it computes. */
#define IDLE_PAUSE_US 40000
#define IDLE_WORK_NS (1 * CLV_NS_PER_MS)
#define LOOPS_PER_LOOK 2
#define LOOKS 5

static _Atomic uint32_t is_halted, is_over;

struct worker {
	pthread_t thread;
	_Atomic int32_t tid;
	bool is_deaf, is_idle;
	_Atomic uint64_t n_loops;
};

static void on_halt(int number, siginfo_t *info, void *context)
{
	while (info->si_int == CLV_ATTACH_HALT_VALUE && atomic_load(&is_halted))
		usleep(1000);
}

static uint64_t own_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * CLV_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void idle(void)
{
	uint64_t until_ns = own_ns() + IDLE_WORK_NS;

	usleep(IDLE_PAUSE_US);
	while (own_ns() < until_ns)
		;
}

static void *work(void *userdata)
{
	struct worker *worker = userdata;
	sigset_t halting;

	sigemptyset(&halting);
	sigaddset(&halting, CLV_ATTACH_HALT_SIGNAL);
	if (worker->is_deaf)
		pthread_sigmask(SIG_BLOCK, &halting, NULL);
	atomic_store(&worker->tid, (int32_t)syscall(SYS_gettid));
	while (!atomic_load(&is_over)) {
		if (worker->is_idle)
			idle();
		atomic_fetch_add(&worker->n_loops, 1);
	}
	return NULL;
}

static void start(struct worker *worker)
{
	struct sigaction action = {
		.sa_sigaction = on_halt, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigaction(CLV_ATTACH_HALT_SIGNAL, &action, NULL);
	atomic_store(&is_halted, 0);
	atomic_store(&is_over, 0);
	assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
	while (atomic_load(&worker->tid) == 0)
		usleep(100);
}

static void finish(struct worker *worker)
{
	atomic_store(&is_halted, 0);
	atomic_store(&is_over, 1);
	pthread_join(worker->thread, NULL);
}

static struct clv_threads *threads_of(struct worker *worker)
{
	int32_t tid = atomic_load(&worker->tid);

	return clv_threads_new(getpid(), &tid, 1);
}

static bool come_to_obey(struct clv_threads *threads)
{
	uint64_t until_ns = clv_clock_ns() + PATIENCE_NS;

	while (clv_clock_ns() < until_ns) {
		if (clv_threads_can_be_halted(threads))
			return true;
		usleep(1000);
	}
	return false;
}

static void test_computing_threads_are_stopped(void **state)
{
	struct worker worker = {0};
	struct clv_threads *threads;
	uint64_t n_loops;

	start(&worker);
	threads = threads_of(&worker);
	assert_true(come_to_obey(threads));
	atomic_store(&is_halted, 1);
	assert_true(clv_threads_halt(threads));
	assert_true(clv_threads_are_halted(threads));
	do {
		n_loops = atomic_load(&worker.n_loops);
		usleep(20000);
	} while (atomic_load(&worker.n_loops) != n_loops);
	assert_true(clv_threads_verify(threads, clv_clock_ns()));
	assert_true(clv_threads_verify(threads, clv_clock_ns()));

	atomic_store(&is_halted, 0);
	clv_threads_resume(threads);
	while (atomic_load(&worker.n_loops) == n_loops)
		usleep(1000);
	assert_true(clv_threads_can_be_halted(threads));
	finish(&worker);
	clv_threads_free(threads);
}

static void test_running_threads_are_found(void **state)
{
	struct worker worker = {.is_deaf = true};
	uint64_t until_ns = clv_clock_ns() + PATIENCE_NS;
	struct clv_threads *threads;

	start(&worker);
	threads = threads_of(&worker);
	assert_true(come_to_obey(threads));
	atomic_store(&is_halted, 1);
	assert_true(clv_threads_halt(threads));
	while (clv_threads_verify(threads, clv_clock_ns()) && clv_clock_ns() < until_ns)
		usleep(4000);
	assert_false(clv_threads_can_be_halted(threads));
	finish(&worker);
	clv_threads_free(threads);
}

/* The looks are as far apart as the idle thread's own progress makes them. */
static void never_comes_to_obey(struct worker *idle, struct clv_threads *threads)
{
	for (int i = 0; i < LOOKS; i++) {
		uint64_t n_loops = atomic_load(&idle->n_loops) + LOOPS_PER_LOOK;

		assert_false(clv_threads_can_be_halted(threads));
		while (atomic_load(&idle->n_loops) < n_loops)
			usleep(IDLE_PAUSE_US);
	}
	assert_false(clv_threads_can_be_halted(threads));
}

/* Only computing threads are stopped. */
static void test_other_threads_are_left_alone(void **state)
{
	struct worker named = {.is_idle = true}, worker = {0};
	struct clv_threads *threads;

	start(&named);
	start(&worker);
	threads = threads_of(&named);
	never_comes_to_obey(&named, threads);
	finish(&named);
	finish(&worker);
	clv_threads_free(threads);
}

static const struct sched_param no_priority;

/* One processor for the thread and a process that leaves it almost no time. */
static pid_t starve(const struct worker *worker)
{
	pid_t hog;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(
		sched_setaffinity(atomic_load(&worker->tid), sizeof(one), &one), 0);
	assert_int_equal(
		sched_setscheduler(atomic_load(&worker->tid), SCHED_IDLE, &no_priority),
		0);
	hog = fork();
	assert_true(hog >= 0);
	if (hog == 0) {
		sched_setaffinity(0, sizeof(one), &one);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	return hog;
}

static void test_starved_thread_computes(void **state)
{
	struct worker named = {.is_idle = true}, worker = {0};
	struct clv_threads *threads;
	pid_t hog;

	start(&named);
	start(&worker);
	hog = starve(&worker);
	threads = threads_of(&named);
	never_comes_to_obey(&named, threads);
	kill(hog, SIGKILL);
	waitpid(hog, NULL, 0);
	assert_int_equal(
		sched_setscheduler(atomic_load(&worker.tid), SCHED_OTHER, &no_priority),
		0);
	finish(&named);
	finish(&worker);
	clv_threads_free(threads);
}

static void test_ended_process(void **state)
{
	struct worker worker = {0};
	struct clv_threads *threads;

	start(&worker);
	threads = threads_of(&worker);
	assert_true(come_to_obey(threads));
	finish(&worker);
	while (syscall(SYS_tgkill, getpid(), atomic_load(&worker.tid), 0) == 0)
		usleep(1000);
	assert_false(clv_threads_halt(threads));
	assert_false(clv_threads_can_be_halted(threads));
	assert_true(clv_threads_verify(threads, clv_clock_ns()));
	clv_threads_free(threads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_computing_threads_are_stopped),
		cmocka_unit_test(test_running_threads_are_found),
		cmocka_unit_test(test_other_threads_are_left_alone),
		cmocka_unit_test(test_starved_thread_computes),
		cmocka_unit_test(test_ended_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
