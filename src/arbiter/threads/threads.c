/* SPDX-License-Identifier: Apache-2.0 */
/* Halts the threads in which a process computes by a signal, and checks that they
 * stop. */
#include "arbiter/threads/threads.h"

#include "arbiter/attach.h"
#include "base/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Threads that ran on are not signalled again for this long. */
#define AGAIN_NS (10 * CLV_NS_PER_S)

/* The time that a thread takes to halt, and the part of the time that it may run
 * unnoticed. */
#define SETTLE_NS (2 * CLV_NS_PER_MS)
#define WORTH_PART 8

/* This much processor time is enough to tell which threads compute. */
#define PROOF_NS (1 * CLV_NS_PER_MS)

struct clv_threads {
	pid_t pid;
	uint32_t n;
	bool are_halted;
	bool do_compute; /* observed once, and kept */
	uint64_t seen_ns, seen_process_ns, seen_threads_ns;
	/* halted_ns, process_ns: the time and the process's processor time when the
	 * threads were signalled to halt.  looked_ns, threads_ns: the time and the
	 * threads' processor time when the process's was first seen to have grown since;
	 * looked_ns 0: not yet. */
	uint64_t halted_ns, process_ns;
	uint64_t looked_ns, threads_ns;
	/* When the threads last ran on although they were signalled to halt; 0: never. */
	uint64_t ran_on_ns;
	int32_t tids[];
};

struct clv_threads *clv_threads_new(pid_t pid, const int32_t *tids, uint32_t n)
{
	struct clv_threads *threads = calloc(1, sizeof(*threads) + n * sizeof(*tids));

	if (!threads)
		return NULL;
	threads->pid = pid;
	threads->n = n;
	memcpy(threads->tids, tids, n * sizeof(*tids));
	return threads;
}

struct clv_threads *clv_threads_free(struct clv_threads *threads)
{
	free(threads);
	return NULL;
}

/* The processor time of all threads of the process, by one system call.  0: it is
 * gone. */
static uint64_t process_ns(const struct clv_threads *threads)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(threads->pid, &clock) != 0 ||
		clock_gettime(clock, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * CLV_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* The processor time of one thread: the first number of schedstat
 * (Documentation/scheduler/sched-stats.rst).  0: the thread is gone, or the kernel does
 * not count. */
static uint64_t thread_ns(pid_t pid, int32_t tid)
{
	char path[64], text[64] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 ? strtoull(text, NULL, 10) : 0;
}

static uint64_t threads_ns(const struct clv_threads *threads)
{
	uint64_t sum_ns = 0;

	for (uint32_t i = 0; i < threads->n; i++)
		sum_ns += thread_ns(threads->pid, threads->tids[i]);
	return sum_ns;
}

/* Threads are halted only once they were seen to do most of what the process does: a
 * driver may compute in threads that it creates later and use these for something
 * else.  The process is read around its threads: whatever runs between the readings, as
 * while the agent is preempted, counts against them.  Threads that mostly sleep do not
 * compute, even if they are all that ran: other threads may have had no processor. */
static bool do_compute(struct clv_threads *threads)
{
	uint64_t now_ns = clv_clock_ns(), before_ns, of_threads_ns, ran_ns;

	if (threads->do_compute)
		return true;
	before_ns = process_ns(threads);
	of_threads_ns = threads_ns(threads);
	ran_ns = of_threads_ns - threads->seen_threads_ns;
	if (of_threads_ns < threads->seen_threads_ns)
		return false;
	threads->do_compute =
		threads->seen_process_ns > 0 && ran_ns >= PROOF_NS &&
		ran_ns >= (now_ns - threads->seen_ns) / WORTH_PART &&
		ran_ns >= (process_ns(threads) - threads->seen_process_ns) / 2;
	if (ran_ns >= PROOF_NS || threads->seen_process_ns == 0) {
		threads->seen_ns = now_ns;
		threads->seen_process_ns = before_ns;
		threads->seen_threads_ns = of_threads_ns;
	}
	return threads->do_compute;
}

bool clv_threads_can_be_halted(struct clv_threads *threads)
{
	bool ran_on =
		threads->ran_on_ns != 0 && clv_clock_ns() - threads->ran_on_ns < AGAIN_NS;

	return threads->n > 0 && !ran_on && do_compute(threads);
}

static bool halt(pid_t pid, int32_t tid)
{
	siginfo_t info = {.si_signo = CLV_ATTACH_HALT_SIGNAL, .si_code = SI_QUEUE};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = CLV_ATTACH_HALT_VALUE;
	return syscall(SYS_rt_tgsigqueueinfo, pid, tid, CLV_ATTACH_HALT_SIGNAL, &info) ==
	       0;
}

static bool give_up(struct clv_threads *threads)
{
	threads->ran_on_ns = clv_clock_ns();
	return false;
}

bool clv_threads_halt(struct clv_threads *threads)
{
	threads->process_ns = process_ns(threads);
	threads->halted_ns = clv_clock_ns();
	threads->looked_ns = 0;
	threads->are_halted = true;
	for (uint32_t i = 0; i < threads->n; i++) {
		if (!halt(threads->pid, threads->tids[i]))
			return give_up(threads);
	}
	return true;
}

bool clv_threads_are_halted(const struct clv_threads *threads)
{
	return threads->are_halted;
}

void clv_threads_resume(struct clv_threads *threads)
{
	threads->are_halted = false;
}

/* A process or thread that is gone reads as 0, so it has not run. */
static bool have_run(uint64_t ran_ns, uint64_t before_ns, uint64_t elapsed_ns)
{
	return ran_ns > before_ns + SETTLE_NS + elapsed_ns / WORTH_PART;
}

/* The threads are read one by one only if the whole process has run: other threads of the
 * process may run. */
bool clv_threads_verify(struct clv_threads *threads, uint64_t now_ns)
{
	uint64_t ran_ns;

	if (!have_run(process_ns(threads), threads->process_ns,
		    now_ns - threads->halted_ns))
		return true;
	ran_ns = threads_ns(threads);
	if (threads->looked_ns != 0)
		return !have_run(ran_ns, threads->threads_ns,
			       now_ns - threads->looked_ns) ||
		       give_up(threads);
	threads->looked_ns = now_ns;
	threads->threads_ns = ran_ns;
	return true;
}
