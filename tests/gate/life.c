/* SPDX-License-Identifier: Apache-2.0 */
/* What programs do beside computing: fork, exec, threads, signals.
 *
 * usage: cuda-life|hip-life CASE [ARGUMENT] */
#include "life.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_THREADS 16
#define N_LAUNCHES 300

/* The API is for the process that initialized it alone; the gate must not mind. */
int life_forks(void)
{
	uint64_t a;
	int status;

	life_load();
	life_launch(NULL, 10);
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(life_is_right_in_child() ? 0 : 1);
		waitpid(child, &status, 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		life_launch(NULL, 10);
	}
	OK(life_allocate(600 * MIB, &a));
	CHECK(life_free_bytes() == 424 * MIB);
	return 0;
}

static int execs(const char *program)
{
	life_load();
	life_launch(NULL, 10);
	execl(program, program, (char *)NULL);
	return 1;
}

static void *compute(void *userdata)
{
	void *stream;
	uint64_t a;

	life_begin();
	stream = life_make_stream();
	for (int i = 0; i < 20; i++) {
		OK(life_allocate(10 * MIB, &a));
		life_launch(stream, N_LAUNCHES / 20);
		life_free(a);
	}
	life_destroy_stream(stream);
	return NULL;
}

void life_run_threads(void *(*run)(void *userdata))
{
	pthread_t all[N_THREADS];

	for (int i = 0; i < N_THREADS; i++)
		CHECK(pthread_create(&all[i], NULL, run, NULL) == 0);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(all[i], NULL);
}

/* All at once at the first call. */
int life_threads(void)
{
	life_load();
	life_run_threads(compute);
	CHECK(life_free_bytes() == QUOTA);
	return 0;
}

static volatile sig_atomic_t n_signals;

static void on_signal(int number)
{
	n_signals++;
}

/* A storm of them, none with SA_RESTART. */
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
	life_load();
	life_launch(NULL, 5000);
	kill(storm, SIGKILL);
	while (waitpid(storm, NULL, 0) < 0)
		;
	CHECK(n_signals > 10);
	return 0;
}

/* Holds so many MiB until its input ends; says whether it got them. */
static int hold(const char *mib)
{
	uint64_t a;
	char byte;

	life_begin();
	printf("%d\n", life_allocate(strtoull(mib, NULL, 10) * MIB, &a));
	fflush(stdout);
	while (read(0, &byte, 1) == 1)
		printf("%d\n", life_allocate(MIB, &a)), fflush(stdout);
	return 0;
}

static const struct life_case common[] = {
	{"forks", life_forks},
	{"threads", life_threads},
	{"signals", signals},
	{NULL, NULL},
};

static const struct life_case *find(const struct life_case *cases, const char *name)
{
	while (cases->name && strcmp(cases->name, name) != 0)
		cases++;
	return cases->name ? cases : NULL;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct life_case *found = find(common, name);

	if (!found)
		found = find(life_cases, name);
	if (found)
		return found->run();
	if (strcmp(name, "execs") == 0 && argc == 3)
		return execs(argv[2]);
	if (strcmp(name, "hold") == 0 && argc == 3)
		return hold(argv[2]);
	return 64;
}
