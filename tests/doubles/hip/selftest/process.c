/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests of starting and dying processes, and of threads. */

static pid_t start_holder(void)
{
	pid_t pid = fork();
	void *p;

	if (pid)
		return pid;
	OK(hipMalloc(&p, 4 * GIB));
	launch(kernel("spin"), NULL, 10000000000, 0);
	/* A child that keeps the socket open. */
	if (fork() == 0) {
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

static void killed(void)
{
	pid_t pid = start_holder();
	uint64_t start;

	holds(4096 + 64);
	kill(pid, SIGKILL);
	holds(0);
	start = now_ns();
	launch(kernel("us20"), NULL, 0, 0);
	OK(hipDeviceSynchronize());
	CHECK(now_ns() - start < 1000000000);
	waitpid(pid, NULL, 0);
}

static void told_to_sysfs(void)
{
	char path[256], text[128] = "", expected[128];
	FILE *from;
	void *p;

	OK(hipMalloc(&p, 4 * MIB));
	snprintf(path, sizeof(path), "%s/holders", test_folder);
	snprintf(expected, sizeof(expected), "kfd 0000:05:00.0 %d %zu\n", getpid(),
		4 * MIB);
	from = fopen(path, "r");
	CHECK(from && fgets(text, sizeof(text), from));
	CHECK(strcmp(text, expected) == 0);
}

static void forked(void)
{
	void *p;
	pid_t pid;
	int status;

	OK(hipMalloc(&p, MIB));
	pid = fork();
	if (pid == 0) {
		IS(HIP_NOT_INITIALIZED, hipMalloc(&p, MIB));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK(status == 0);
	OK(hipMalloc(&p, MIB));
}

static void traced(void)
{
	char line[64], *text;

	launch(kernel("us20"), NULL, 0, 0);
	OK(hipDeviceSynchronize());
	text = ask("trace");
	snprintf(line, sizeof(line), "%d 0 1 0 us20 ", getpid());
	CHECK(strncmp(text, line, strlen(line)) == 0);
}

/* Threads with a stream each, and with per-thread default streams. */
static void *work(void *user)
{
	struct func *f = user;
	struct stream *s;

	OK(hipStreamCreateWithFlags(&s, 1));
	for (int i = 0; i < 2000; i++) {
		launch(f, s, 0, 0);
		launch(f, HIP_PER_THREAD, 0, 0);
		if (i % 100 == 0)
			OK(hipStreamSynchronize(s));
	}
	OK(hipStreamSynchronize(HIP_PER_THREAD));
	OK(hipStreamDestroy(s));
	return NULL;
}

static void threads(void)
{
	struct module *module;
	struct func *f;
	pthread_t ids[4];

	OK(hipModuleLoadData(&module, "cleave-double-module\nkernel tiny 200\n"));
	OK(hipModuleGetFunction(&f, module, "tiny"));
	for (int i = 0; i < 4; i++)
		pthread_create(&ids[i], NULL, work, f);
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
	OK(hipDeviceSynchronize());
	CHECK(stat_of("process", "launches") == 4 * 2 * 2000);
}

/* The null stream and blocking streams, which wait for each other, at the same time. */
static void *cross(void *user)
{
	struct func *f = user;
	struct stream *s;

	OK(hipStreamCreate(&s));
	for (int i = 0; i < 300; i++) {
		launch(f, s, 0, 0);
		launch(f, NULL, 0, 0);
		if (i % 50 == 0)
			OK(hipStreamSynchronize(NULL));
	}
	OK(hipStreamDestroy(s));
	return NULL;
}

static void crossing(void)
{
	struct module *module;
	struct func *f;
	pthread_t ids[3];

	OK(hipModuleLoadData(&module, "cleave-double-module\nkernel tiny 200\n"));
	OK(hipModuleGetFunction(&f, module, "tiny"));
	for (int i = 0; i < 3; i++)
		pthread_create(&ids[i], NULL, cross, f);
	for (int i = 0; i < 3; i++)
		pthread_join(ids[i], NULL);
	OK(hipDeviceSynchronize());
	CHECK(stat_of("process", "launches") == 3 * 2 * 300);
}

int hipStreamSynchronize_spt(struct stream *stream);
int hipStreamQuery_spt(struct stream *stream);
int hipMemcpy_spt(void *dst, const void *src, size_t bytes, int kind);

/* A per-thread default stream is not the null stream, but waits for it. */
static void per_thread(void)
{
	uint32_t value = 7, *word;
	void *p;

	OK(hipMalloc(&p, 4));
	launch(kernel("slow"), NULL, (uintptr_t)p, 8);
	OK(hipMemcpy_spt(&value, p, 4, HIP_TO_HOST));
	CHECK(value == 8);
	OK(hipStreamSynchronize(NULL));
	word = hold(NULL);
	OK(hipStreamSynchronize_spt(NULL));
	launch(kernel("us20"), HIP_PER_THREAD, 0, 0);
	sleep_ms(5);
	IS(HIP_NOT_READY, hipStreamQuery_spt(NULL));
	*word = 1;
	OK(hipStreamSynchronize_spt(NULL));
	OK(hipStreamQuery(HIP_PER_THREAD));
}

const struct case_of_test process_cases[] = {
	{"killed", killed, "context-mib 64\n", NULL},
	{"told-to-sysfs", told_to_sysfs, "tell-sysfs\ncontext-mib 0\n", NULL},
	{"forked", forked, NULL, NULL},
	{"traced", traced, "trace\n", NULL},
	{"threads", threads, NULL, NULL},
	{"crossing", crossing, NULL, NULL},
	{"per-thread", per_thread, NULL, NULL},
	{0},
};
