/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests of whole processes: fork, kill -9, a device that several share, statistics at
 * exit. The helpers are further cases of the same program, run by name. */

extern char **environ;

static pid_t start(const char *name, const char *setting, int out)
{
	char *argv[] = {(char *)"selftest", (char *)name, NULL}, *env[256];
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int n = 0;

	for (char **e = environ; *e && n < 250; e++)
		env[n++] = *e;
	if (setting)
		env[n++] = (char *)setting;
	env[n] = NULL;
	posix_spawn_file_actions_init(&actions);
	if (out >= 0)
		posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	CHECK(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, env) == 0);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static void end_well(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_forked_child_has_no_device(void)
{
	cl_command_queue q;
	size_t one = 1;
	struct rig rig;
	pid_t pid;
	cl_int rc;

	rig_init(&rig);
	q = rig_keep_queue(&rig, 0);
	OK(clEnqueueNDRangeKernel(q, rig.nop, 1, NULL, &one, NULL, 0, NULL, NULL));
	OK(clFinish(q));
	pid = fork();
	if (pid == 0) {
		CHECK_CL(CL_OUT_OF_RESOURCES, clEnqueueNDRangeKernel(q, rig.nop, 1, NULL,
						      &one, NULL, 0, NULL, NULL));
		CHECK_CL(CL_OUT_OF_RESOURCES, clFinish(q));
		CHECK(clCreateBuffer(rig.context, 0, 64, NULL, &rc) == NULL);
		CHECK_CL(CL_OUT_OF_RESOURCES, rc);
		_Exit(0);
	}
	end_well(pid);
	OK(clEnqueueNDRangeKernel(q, rig.nop, 1, NULL, &one, NULL, 0, NULL, NULL));
	OK(clFinish(q));
	rig_done(&rig);
}

#define N_TURNS 40

/* Helper: prints when each of its kernels held the device. */
static void helper_spin(void)
{
	cl_event events[N_TURNS];
	cl_command_queue q;
	struct rig rig;

	rig_init(&rig);
	q = rig_keep_queue(&rig, CL_QUEUE_PROFILING_ENABLE);
	for (int i = 0; i < N_TURNS; i++)
		events[i] = rig_run(&rig, q, 1000, NULL);
	OK(clFinish(q));
	for (int i = 0; i < N_TURNS; i++) {
		printf("%llu %llu\n",
			(unsigned long long)profiled(
				events[i], CL_PROFILING_COMMAND_START),
			(unsigned long long)profiled(
				events[i], CL_PROFILING_COMMAND_END));
		OK(clReleaseEvent(events[i]));
	}
	rig_done(&rig);
}

/* Helper: takes 48 MiB and the device, and does not release them. */
static void helper_hold(void)
{
	cl_command_queue q;
	struct rig rig;

	rig_init(&rig);
	q = rig_queue(&rig, 0);
	for (int i = 0; i < 3; i++)
		CHECK(clCreateBuffer(rig.context, 0, 16 << 20, NULL, NULL) != NULL);
	rig_run(&rig, q, 50000000, NULL);
	OK(clFlush(q));
	printf("holding\n");
	fflush(stdout);
	pause();
}

struct span {
	unsigned long long start, end;
};

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static char *device_setting(char *path)
{
	static char setting[128];
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	snprintf(setting, sizeof(setting), "CLEAVE_DOUBLE_DEVICE=%s", path);
	return setting;
}

static void processes_take_turns(void)
{
	char path[] = "/tmp/cleave-double-device-XXXXXX", *setting = device_setting(path);
	struct span spans[2 * N_TURNS];
	pid_t pids[2];
	int pipes[2], n = 0, turns = 0;
	FILE *in;

	CHECK(pipe(pipes) == 0);
	for (int i = 0; i < 2; i++)
		pids[i] = start("helper_spin", setting, pipes[1]);
	close(pipes[1]);
	in = fdopen(pipes[0], "r");
	CHECK(in != NULL);
	while (n < 2 * N_TURNS &&
		fscanf(in, "%llu %llu", &spans[n].start, &spans[n].end) == 2)
		n++;
	fclose(in);
	end_well(pids[0]);
	end_well(pids[1]);
	CHECK(n == 2 * N_TURNS);
	qsort(spans, 2 * N_TURNS, sizeof(spans[0]), by_start);
	for (int i = 1; i < n; i++) {
		CHECK(spans[i - 1].end <= spans[i].start);
		turns += spans[i].start - spans[i - 1].end < 1000000;
	}
	CHECK(turns > 0);
	unlink(path);
}

static void a_killed_process_gives_the_device_back(void)
{
	char path[] = "/tmp/cleave-double-device-XXXXXX", *setting = device_setting(path);
	char line[16] = {0};
	int pipes[2], status;
	pid_t holder, other;

	CHECK(pipe(pipes) == 0);
	holder = start("helper_hold", setting, pipes[1]);
	CHECK(read(pipes[0], line, 8) == 8 && strncmp(line, "holding", 7) == 0);
	nap_ms(NAP_MS);
	other = start("helper_full", setting, -1);
	end_well(other);
	other = start("helper_spin", setting, pipes[1]);
	nap_ms(4 * NAP_MS);
	CHECK(waitpid(other, &status, WNOHANG) == 0);
	kill(holder, SIGKILL);
	CHECK(waitpid(holder, &status, 0) == holder);
	end_well(other);
	end_well(start("helper_empty", setting, -1));
	unlink(path);
}

static cl_int take(const struct rig *rig)
{
	cl_int rc;

	clCreateBuffer(rig->context, 0, 16 << 20, NULL, &rc);
	return rc;
}

/* Helper: another process has 48 of 64 MiB. */
static void helper_full(void)
{
	struct rig rig;

	rig_init(&rig);
	OK(take(&rig));
	CHECK_CL(CL_MEM_OBJECT_ALLOCATION_FAILURE, take(&rig));
}

/* Helper: no other process has memory. */
static void helper_empty(void)
{
	struct rig rig;

	rig_init(&rig);
	for (int i = 0; i < 4; i++)
		OK(take(&rig));
	CHECK_CL(CL_MEM_OBJECT_ALLOCATION_FAILURE, take(&rig));
}

/* Helper: leaves 64 bytes and two commands behind, at a normal exit. */
static void helper_untidy(void)
{
	cl_command_queue q;
	struct rig rig;

	rig_init(&rig);
	q = rig_queue(&rig, 0);
	CHECK(clCreateBuffer(rig.context, 0, 64, NULL, NULL) != NULL);
	rig_run(&rig, q, 0, NULL);
	OK(clFinish(q));
	rig_run(&rig, q, 0, NULL);
	rig_run(&rig, q, 0, NULL);
}

static void statistics_are_written_at_exit(void)
{
	static const char *const wanted[] = {"\"enqueues\": 3,", "\"kernels\": 3,",
		"\"completed\": 1,", "\"never_run\": 2,", "\"live_bytes\": 64,",
		"\"peak_bytes\": 64,", "\"allocations\": 1,"};
	char path[] = "/tmp/cleave-double-stats-XXXXXX", setting[128], text[4096] = {0};
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	snprintf(setting, sizeof(setting), "CLEAVE_DOUBLE_STATS=%s", path);
	end_well(start("helper_untidy", setting, -1));
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		CHECK(strstr(text, wanted[i]) != NULL);
	close(fd);
	unlink(path);
}

static void a_misspelt_knob_ends_the_process(void)
{
	struct rig rig;

	rig_init(&rig);
}

/* clang-format off */
#define CASE(name_, ...) { .name = #name_, .run = name_, __VA_ARGS__ }
const struct selftest_case selftest_process[] = {
	CASE(a_forked_child_has_no_device),
	CASE(processes_take_turns),
	CASE(a_killed_process_gives_the_device_back, .env = { "CLEAVE_DOUBLE_MEMORY=64M" }),
	CASE(statistics_are_written_at_exit),
	CASE(a_misspelt_knob_ends_the_process, .env = { "CLEAVE_DOUBLE_MEMORY=lots" },
		.dies_with = "cannot read CLEAVE_DOUBLE_MEMORY=lots"),
	{ 0 },
};
const struct selftest_case selftest_helpers[] = {
	CASE(helper_spin),
	CASE(helper_hold),
	CASE(helper_full),
	CASE(helper_empty),
	CASE(helper_untidy),
	{ 0 },
};
/* clang-format on */
