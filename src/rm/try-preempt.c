/* SPDX-License-Identifier: Apache-2.0 */
/* Tries on a GPU whether the driver lets another process stop a kernel before it is
 * complete, as the agent does: a child computes and passes on its channel groups with
 * their file; this process takes them off the GPU and puts them back.  The interface is
 * not stable, so it is tried for each driver before the agent relies on it.  If neither
 * channels nor groups can be taken off, time slices are measured: two children compute
 * without a pause, and each in turn must get nearly all of the GPU.
 *
 * usage: cleave-try-preempt GPU-UUID
 * Prints "ok METHOD OFF_US ON_US" or "no REASON", one line, and exits with 0. */
#include "base/clock.h"
#include "base/socket.h"
#include "rm/channels.h"
#include "rm/try-child.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HALF_WAY_MS 5u
#define STOPPED_MS 150u
#define AT_MOST_MS 3000u

/* Time slices: how many kernels are counted, and which part of them must be of the child
 * that is on.  Slices of 8 ms and 1 us would make it 0.9999; no document says what the
 * hardware's own least slice and its switches cost. */
#define LOOKED_AT 60u
#define SETTLE_MS 20u
#define ENOUGH_PERCENT 90u

struct test {
	int child;
	struct clv_rm_channels *channels;
	struct clv_try_message last;
};

static void pause_ms(unsigned ms)
{
	struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&pause, NULL);
}

/* Receives messages up to the next that is not an object.  False: the child is gone. */
static bool receive_answer(struct test *test)
{
	for (;;) {
		size_t n_fds = 1;
		int fd = -1;
		ssize_t got = clv_socket_receive(
			test->child, &test->last, sizeof(test->last), &fd, &n_fds);

		if (got != sizeof(test->last))
			return false;
		if (test->last.kind == CLV_TRY_OBJECT)
			clv_rm_channels_note(test->channels, fd, &test->last.object);
		if (n_fds > 0)
			close(fd);
		if (test->last.kind != CLV_TRY_OBJECT)
			return true;
	}
}

static bool ask(struct test *test, enum clv_try_question question)
{
	char byte = (char)question;

	return write(test->child, &byte, 1) == 1 && receive_answer(test);
}

static bool is_done(struct test *test)
{
	return ask(test, CLV_TRY_QUERY) && test->last.kind == CLV_TRY_DONE;
}

static bool ends_in_time(struct test *test)
{
	for (unsigned ms = 0; ms < AT_MOST_MS; ms += 10) {
		if (is_done(test))
			return true;
		pause_ms(10);
	}
	return false;
}

/* Tries one method.  Returns NULL if it works, else why not. */
static const char *try(struct test *test, enum clv_rm_method method, uint64_t *ret_off_ns,
	uint64_t *ret_on_ns)
{
	static char reason[96];
	uint64_t began_ns;
	uint32_t off, on;
	bool is_stopped;

	if (!ask(test, CLV_TRY_LAUNCH) || test->last.kind != CLV_TRY_LAUNCHED)
		return "no kernel runs";
	pause_ms(HALF_WAY_MS);
	began_ns = clv_clock_ns();
	off = clv_rm_channels_switch(test->channels, method, false);
	*ret_off_ns = clv_clock_ns() - began_ns;
	pause_ms(STOPPED_MS);
	is_stopped = !is_done(test);
	began_ns = clv_clock_ns();
	on = clv_rm_channels_switch(test->channels, method, true);
	*ret_on_ns = clv_clock_ns() - began_ns;
	if (!ends_in_time(test))
		return "a stopped kernel did not resume";
	snprintf(reason, sizeof(reason), "the driver refused with status 0x%x",
		off ? off : on);
	if (off || on)
		return reason;
	return is_stopped ? NULL : "the driver accepted it and the kernel ran on";
}

static const char *explain(const struct test *test)
{
	static char reason[96];

	if (test->last.kind != CLV_TRY_FAILED)
		return "the driver ended the process that tried it";
	if (test->last.code == 0)
		return "there is no libcuda.so.1";
	snprintf(reason, sizeof(reason), "CUDA error %d: %s", test->last.code,
		test->last.what);
	return reason;
}

static bool begin(struct test *test)
{
	int pair[2];

	test->channels = clv_rm_channels_new(true);
	test->child = -1;
	if (!test->channels ||
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		clv_try_compute(pair[1]);
		_exit(0);
	}
	close(pair[1]);
	test->child = pair[0];
	return receive_answer(test) && test->last.kind == CLV_TRY_LAUNCHED;
}

/* Time slices. */

static bool count(struct test *test, int *ret)
{
	*ret = -1;
	if (ask(test, CLV_TRY_WORK_DONE) && test->last.kind == CLV_TRY_DONE)
		*ret = test->last.code;
	return *ret >= 0;
}

/* The first child's part of the work while both have some, in percent; -1: it could not
 * be measured. */
static int measure_part(struct test tests[2])
{
	int before[2], now[2], did[2] = {0};

	pause_ms(SETTLE_MS);
	if (!count(&tests[0], &before[0]) || !count(&tests[1], &before[1]))
		return -1;
	for (unsigned ms = 0; ms < AT_MOST_MS; ms += 2) {
		pause_ms(2);
		if (!count(&tests[0], &now[0]) || !count(&tests[1], &now[1]))
			return -1;
		did[0] = now[0] - before[0];
		did[1] = now[1] - before[1];
		if (did[0] + did[1] >= (int)LOOKED_AT)
			break;
	}
	if (now[0] == (int)CLV_TRY_WORK_KERNELS || now[1] == (int)CLV_TRY_WORK_KERNELS)
		return -1;
	return did[0] + did[1] > 0 ? 100 * did[0] / (did[0] + did[1]) : -1;
}

/* Gives the GPU to the first child and not to the second, and then the reverse. */
static const char *try_slices(
	struct test tests[2], uint64_t *ret_off_ns, uint64_t *ret_on_ns)
{
	static char reason[96];
	uint32_t off = 0, on = 0;
	uint64_t began_ns;

	if (!begin(&tests[1]) || !ask(&tests[0], CLV_TRY_WORK) ||
		!ask(&tests[1], CLV_TRY_WORK))
		return "no second process runs to measure time slices with";
	for (int i = 0; i < 2; i++) {
		int part;

		began_ns = clv_clock_ns();
		on = clv_rm_channels_switch(tests[i].channels, CLV_RM_BY_SLICES, true);
		*ret_on_ns = clv_clock_ns() - began_ns;
		began_ns = clv_clock_ns();
		off = clv_rm_channels_switch(tests[!i].channels, CLV_RM_BY_SLICES, false);
		*ret_off_ns = clv_clock_ns() - began_ns;
		snprintf(reason, sizeof(reason), "the driver refused with status 0x%x",
			off ? off : on);
		if (off || on)
			return reason;
		part = measure_part(tests);
		if (part < 0)
			return "the effect of time slices could not be measured";
		part = i == 0 ? part : 100 - part;
		snprintf(reason, sizeof(reason),
			"time slices do not divide the GPU: %d %% instead of nearly all",
			part);
		if (part < (int)ENOUGH_PERCENT)
			return reason;
	}
	return NULL;
}

static const char *say_ok(enum clv_rm_method method, uint64_t off_ns, uint64_t on_ns)
{
	printf("ok %s %llu %llu\n", clv_rm_method_to_string(method),
		(unsigned long long)(off_ns / CLV_NS_PER_US),
		(unsigned long long)(on_ns / CLV_NS_PER_US));
	return NULL;
}

static const char *try_all(struct test tests[2])
{
	static const enum clv_rm_method methods[] = {
		CLV_RM_BY_CHANNELS, CLV_RM_BY_GROUPS};
	static char reason[200];
	const char *reasons[2] = {"", ""};
	uint64_t off_ns, on_ns;

	if (!begin(&tests[0]))
		return explain(&tests[0]);
	if (!clv_rm_channels_has_groups(tests[0].channels))
		return "no channel group was seen";
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		reasons[0] = try(&tests[0], methods[i], &off_ns, &on_ns);
		if (!reasons[0])
			return say_ok(methods[i], off_ns, on_ns);
	}
	reasons[1] = try_slices(tests, &off_ns, &on_ns);
	if (!reasons[1])
		return say_ok(CLV_RM_BY_SLICES, off_ns, on_ns);
	snprintf(reason, sizeof(reason), "%s; %s", reasons[0], reasons[1]);
	return reason;
}

int main(int argc, char **argv)
{
	static struct test tests[2];
	const char *reason;

	if (argc != 2) {
		fprintf(stderr, "usage: cleave-try-preempt GPU-UUID\n");
		return 64;
	}
	signal(SIGPIPE, SIG_IGN);
	setenv("CUDA_VISIBLE_DEVICES", argv[1], 1);
	reason = try_all(tests);
	if (reason)
		printf("no %s\n", reason);
	return 0;
}
