/* SPDX-License-Identifier: Apache-2.0 */
/* What programs do besides computing: fork, exec, threads, signals.
 *
 * usage: cuda-life CASE [PROGRAM] */
#include "memory.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_THREADS 16
#define N_LAUNCHES 300
#define NOT_INITIALIZED 3
#define NO_CONTEXT 201

static handle function;

size_t free_bytes(void)
{
	size_t left, total;

	OK(cuMemGetInfo_v2(&left, &total));
	return left;
}

static void begin(void)
{
	handle context;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
}

static void launch_some(handle stream, int n)
{
	uint64_t ns = 50000;
	void *parameters[] = {&ns};

	for (int i = 0; i < n; i++)
		OK(cuLaunchKernel(
			function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
	OK(cuStreamSynchronize(stream));
}

/* The driver works only in the process that initialized it; the gate must tolerate a
 * child. */
static int forks(void)
{
	int status;
	dptr a;

	begin();
	function = load_spin();
	launch_some(NULL, 10);
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(cuMemAlloc_v2(&a, MIB) == NOT_INITIALIZED ? 0 : 1);
		waitpid(child, &status, 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		launch_some(NULL, 10);
	}
	OK(cuMemAlloc_v2(&a, 600 * MIB));
	CHECK(free_bytes() == 424 * MIB);
	return 0;
}

static int execs(const char *program)
{
	begin();
	function = load_spin();
	launch_some(NULL, 10);
	execl(program, program, (char *)NULL);
	return 1;
}

static void *compute(void *userdata)
{
	handle stream;
	dptr a;

	(void)userdata;
	begin();
	OK(cuStreamCreate(&stream, 1));
	for (int i = 0; i < 20; i++) {
		OK(cuMemAlloc_v2(&a, 10 * MIB));
		launch_some(stream, N_LAUNCHES / 20);
		OK(cuMemFree_v2(a));
	}
	return NULL;
}

/* All threads make their first call at the same time. */
static int threads(void)
{
	pthread_t all[N_THREADS];

	begin();
	function = load_spin();
	for (int i = 0; i < N_THREADS; i++)
		CHECK(pthread_create(&all[i], NULL, compute, NULL) == 0);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(all[i], NULL);
	CHECK(free_bytes() == QUOTA);
	return 0;
}

static void *initialize(void *userdata)
{
	(void)userdata;
	OK(cuInit(0));
	return NULL;
}

static int race(void)
{
	pthread_t all[N_THREADS];

	for (int i = 0; i < N_THREADS; i++)
		CHECK(pthread_create(&all[i], NULL, initialize, NULL) == 0);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(all[i], NULL);
	return threads();
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
	begin();
	function = load_spin();
	launch_some(NULL, 5000);
	kill(storm, SIGKILL);
	while (waitpid(storm, NULL, 0) < 0)
		;
	CHECK(n_signals > 10);
	return 0;
}

/* A program that calls in the wrong order gets the driver's own error from every call. */
static int unready(void)
{
	uint64_t ns = 1;
	void *parameters[] = {&ns};
	size_t left, total;
	dptr a;

	CHECK(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL) ==
		NOT_INITIALIZED);
	CHECK(cuMemAlloc_v2(&a, MIB) == NOT_INITIALIZED);
	CHECK(cuMemGetInfo_v2(&left, &total) == NOT_INITIALIZED);
	CHECK(cuStreamSynchronize(NULL) == NOT_INITIALIZED);
	OK(cuInit(0));
	CHECK(cuMemAlloc_v2(&a, MIB) == NO_CONTEXT);
	CHECK(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL) != 0);
	return 0;
}

/* Holds this many MiB until its input ends; prints whether it got them. */
static int hold(const char *mib)
{
	char byte;
	dptr a;

	begin();
	printf("%d\n", cuMemAlloc_v2(&a, strtoull(mib, NULL, 10) * MIB));
	fflush(stdout);
	while (read(0, &byte, 1) == 1)
		printf("%d\n", cuMemAlloc_v2(&a, MIB)), fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (strcmp(name, "forks") == 0)
		return forks();
	if (strcmp(name, "execs") == 0 && argc == 3)
		return execs(argv[2]);
	if (strcmp(name, "threads") == 0)
		return threads();
	if (strcmp(name, "race") == 0)
		return race();
	if (strcmp(name, "signals") == 0)
		return signals();
	if (strcmp(name, "unready") == 0)
		return unready();
	if (strcmp(name, "hold") == 0 && argc == 3)
		return hold(argv[2]);
	return 64;
}
