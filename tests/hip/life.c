/* SPDX-License-Identifier: Apache-2.0 */
/* What programs do besides computing: fork, exec, threads, captures, signals.
 *
 * usage: hip-life CASE [PROGRAM] */
#include "tenant.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define QUOTA (1024 * MIB)
#define N_THREADS 16
#define N_LAUNCHES 300

int hipLaunchHostFunc(handle stream, void (*function)(void *), void *userdata);
int hipStreamAddCallback(handle stream, void (*function)(handle, int, void *),
	void *userdata, unsigned flags);
int hipStreamWaitValue32(
	handle stream, void *word, uint32_t value, unsigned flags, uint32_t mask);
int hipHostMalloc(void **p, size_t bytes, unsigned flags);

#define CHECK(condition)                                                           \
	do {                                                                       \
		if (!(condition)) {                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, \
				#condition);                                       \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

static handle function;

static size_t free_bytes(void)
{
	size_t left, total;

	OK(hipMemGetInfo(&left, &total));
	return left;
}

static void launch(handle stream, uint64_t ns)
{
	void *parameters[] = {&ns, NULL};

	OK(hipModuleLaunchKernel(
		function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static void launch_some(handle stream, int n)
{
	for (int i = 0; i < n; i++)
		launch(stream, 50000);
	OK(hipStreamSynchronize(stream));
}

/* A child forked after initialization does not compute; the gate must tolerate it. */
static int forks(void)
{
	int status;
	void *a;

	function = load_spin();
	launch_some(NULL, 10);
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		waitpid(child, &status, 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		launch_some(NULL, 10);
	}
	OK(hipMalloc(&a, 600 * MIB));
	CHECK(free_bytes() == 424 * MIB);
	return 0;
}

/* Each child that initializes HIP itself is one more process of the lease, with the same
 * quota. */
static int forks_first(void)
{
	int status;
	void *a;
	pid_t child = fork();

	if (child == 0) {
		function = load_spin();
		launch_some(NULL, 100);
		OK(hipMalloc(&a, 600 * MIB));
		_exit(hipMalloc(&a, 600 * MIB) == 2 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return forks();
}

static int execs(const char *program)
{
	function = load_spin();
	launch_some(NULL, 10);
	execl(program, program, (char *)NULL);
	return 1;
}

static void *compute(void *userdata)
{
	handle stream;
	void *a;

	(void)userdata;
	OK(hipStreamCreateWithFlags(&stream, 1));
	for (int i = 0; i < 20; i++) {
		OK(hipMalloc(&a, 10 * MIB));
		launch_some(stream, N_LAUNCHES / 20);
		OK(hipFree(a));
	}
	OK(hipStreamDestroy(stream));
	return NULL;
}

/* All threads make their first call at the same time. */
static int threads(void)
{
	pthread_t all[N_THREADS];

	function = load_spin();
	for (int i = 0; i < N_THREADS; i++)
		CHECK(pthread_create(&all[i], NULL, compute, NULL) == 0);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(all[i], NULL);
	CHECK(free_bytes() == QUOTA);
	return 0;
}

/* Calls made during a capture of a stream that synchronizes with the legacy stream: the
 * gate's own calls neither invalidate the capture nor wait for it. */
static int captures(void)
{
	handle streams[3], graph, exec;

	function = load_spin();
	OK(hipStreamCreateWithFlags(&streams[0], 0));
	OK(hipStreamCreateWithFlags(&streams[1], 1));
	OK(hipStreamCreateWithFlags(&streams[2], 1));
	for (int i = 0; i < 50; i++) {
		launch_some(NULL, 1);
		launch(NULL, 100000);
		OK(hipStreamBeginCapture(streams[i % 2], i % 3));
		for (int j = 0; j < 20; j++) {
			launch(streams[i % 2], 10000);
			launch(streams[2], 100000);
		}
		OK(hipStreamEndCapture(streams[i % 2], &graph));
		OK(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
		OK(hipGraphLaunch(exec, streams[2]));
	}
	OK(hipDeviceSynchronize());
	return 0;
}

static _Atomic int n_called;

static void called(handle stream, int status, void *userdata)
{
	handle other = userdata;

	(void)stream;
	(void)status;
	launch(other, 10000);
	n_called++;
}

/* HIP calls callbacks on a thread of its own; a launch from one was admitted. */
static int callbacks(void)
{
	handle streams[2];

	function = load_spin();
	OK(hipStreamCreateWithFlags(&streams[0], 1));
	OK(hipStreamCreateWithFlags(&streams[1], 1));
	for (int i = 0; i < 100; i++) {
		launch(streams[0], 20000);
		OK(hipStreamAddCallback(streams[0], called, streams[1], 0));
	}
	OK(hipStreamSynchronize(streams[0]));
	OK(hipStreamSynchronize(streams[1]));
	CHECK(n_called == 100);
	return 0;
}

/* A stream is blocked until another stream has done its work. */
static int blocked_stream(void)
{
	volatile uint32_t *word;
	handle streams[2];
	void *p;

	function = load_spin();
	OK(hipHostMalloc(&p, 4096, 0));
	word = p;
	OK(hipStreamCreateWithFlags(&streams[0], 1));
	OK(hipStreamCreateWithFlags(&streams[1], 1));
	*word = 0;
	for (uint32_t i = 1; i <= 20; i++) {
		OK(hipStreamWaitValue32(streams[0], p, i, 0, UINT32_MAX));
		for (int j = 0; j < 10; j++)
			launch(streams[0], 1000000);
		launch_some(streams[1], 100);
		*word = i;
		OK(hipStreamSynchronize(streams[0]));
	}
	return 0;
}

static volatile sig_atomic_t n_signals;

static void on_signal(int number)
{
	(void)number;
	n_signals++;
}

/* Many signals, none with SA_RESTART. */
static int signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	pid_t storm, self = getpid();

	sigaction(SIGUSR1, &action, NULL);
	storm = fork();
	if (storm == 0) {
		struct timespec pause = {0, 200000};

		while (kill(self, SIGUSR1) == 0)
			nanosleep(&pause, NULL);
		_exit(0);
	}
	function = load_spin();
	launch_some(NULL, 5000);
	kill(storm, SIGKILL);
	while (waitpid(storm, NULL, 0) < 0)
		;
	CHECK(n_signals > 10);
	return 0;
}

/* Holds this many MiB until its input ends; prints whether it got them. */
static int hold(const char *mib)
{
	char byte;
	void *a;

	printf("%d\n", hipMalloc(&a, strtoull(mib, NULL, 10) * MIB));
	fflush(stdout);
	while (read(0, &byte, 1) == 1)
		printf("%d\n", hipMalloc(&a, MIB)), fflush(stdout);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{"forks", forks},
	{"forks-first", forks_first},
	{"threads", threads},
	{"captures", captures},
	{"callbacks", callbacks},
	{"blocked-stream", blocked_stream},
	{"signals", signals},
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(name, cases[i].name) == 0)
			return cases[i].run();
	}
	if (strcmp(name, "execs") == 0 && argc == 3)
		return execs(argv[2]);
	if (strcmp(name, "hold") == 0 && argc == 3)
		return hold(argv[2]);
	return 64;
}
