/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests of starting and dying processes. */

static pid_t start_holder(bool leaves_child)
{
	pid_t pid = fork();
	dptr p;

	if (pid)
		return pid;
	begin();
	OK(cuMemAlloc_v2(&p, (size_t)4 << 30));
	launch(kernel("spin"), NULL, 10000000000, 0);
	if (leaves_child && fork() == 0) {
		sleep_ms(1000);
		_exit(0);
	}
	pause();
	_exit(0);
}

static void holds(long long mib)
{
	long long used = -1;

	for (int i = 0; i < 500 && used != mib << 20; i++) {
		used = stat_of("gpu 0", "used");
		sleep_ms(2);
	}
	CHECK(used == mib << 20);
}

/* A process is killed during its kernel, although its child keeps the socket open. */
static void killed(void)
{
	pid_t pid = start_holder(true);
	uint64_t start;

	holds(4096 + 300);
	CHECK(stat_of("group", "enabled") == 1);
	kill(pid, SIGKILL);
	holds(0);
	CHECK(stat_of("group", "enabled") == -1);
	begin();
	start = now_ns();
	launch(kernel("us20"), NULL, 0, 0);
	OK(cuCtxSynchronize());
	CHECK(now_ns() - start < 1000000000);
	waitpid(pid, NULL, 0);
}

static void told_to_nvml(void)
{
	char path[256], text[128] = "", expected[128];
	FILE *from;
	dptr p;

	begin();
	OK(cuMemAlloc_v2(&p, 4 << 20));
	snprintf(path, sizeof(path), "%s/processes", test_folder);
	snprintf(expected, sizeof(expected), "%d 0 - - %llu C\n", getpid(), 204ULL << 20);
	from = fopen(path, "r");
	CHECK(from && fgets(text, sizeof(text), from));
	CHECK(strcmp(text, expected) == 0);
}

static void machine_dies(void)
{
	handle s;
	char command[64];

	begin();
	OK(cuStreamCreate(&s, 1));
	launch(kernel("spin"), s, 10000000000, 0);
	snprintf(command, sizeof(command), "kill -9 $(pgrep -P %d cuda-double-gpu)",
		getppid());
	CHECK(system(command) == 0);
	IS(999, cuStreamSynchronize(s));
}

const struct case_of_test process_cases[] = {
	{"killed", killed, NULL, NULL},
	{"told-to-nvml", told_to_nvml, "tell-nvml\ncontext-mib 200\n", NULL},
	{"machine-dies", machine_dies, NULL, NULL},
	{0},
};
